// SPDX-License-Identifier: Apache-2.0
// completion, version, and the pages that the program writes about itself.
#include "base/format.h"
#include "base/version.h"
#include "cli/main/command_line.h"
#include "cli/text.h"
#include "server/metrics_docs.h"

namespace lakestream::cli {

namespace {

/// A page, whose last line's end is added again.
Result<Exit> print(std::string page) {
    page.pop_back();
    return exit_of(put_line(page));
}

}  // namespace

void add_about(CommandLine& line) {
    CLI::App& completion = line.noun("completion", "Print a script that completes commands");
    const auto where = [](const std::string& shell) -> std::string {
        return shell == "bash"  ? "completion bash > /etc/bash_completion.d/lakestream"
               : shell == "zsh" ? "completion zsh > \"${fpath[1]}/_lakestream\""
                                : "completion fish > ~/.config/fish/completions/lakestream.fish";
    };
    for (const std::string shell : {"bash", "zsh", "fish"}) {
        CLI::App& one = line.command(
            completion,
            shell,
            {.help = fmt::format("The script for {}", shell), .examples = {where(shell)}}
        );
        line.act(one, [&line, shell] { return print(completion_script(line.root(), shell)); });
    }

    CLI::App& about =
        line.command("version", {.help = "Print the version", .examples = {"version"}});
    line.act(about, [] {
        return exit_of(put_line(fmt::format("lakestream {}", lakestream::version)));
    });

    CLI::App& settings = line.command(
        "settings", {.help = "Print docs/config.md", .examples = {"settings > docs/config.md"}}
    );
    settings.group("");  // for the build
    line.act(settings, [] { return print(server::settings_markdown()); });

    CLI::App& metrics = line.command(
        "metrics", {.help = "Print docs/metrics.md", .examples = {"metrics > docs/metrics.md"}}
    );
    metrics.group("");
    line.act(metrics, []() -> Result<Exit> { return print(LKS_TRY(server::metrics_markdown())); });

    CLI::App& pages =
        line.command("manual", {.help = "Print docs/cli.md", .examples = {"manual > docs/cli.md"}});
    pages.group("");
    line.act(pages, [&line] { return print(manual(line.root())); });
}

}  // namespace lakestream::cli
