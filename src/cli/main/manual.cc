// SPDX-License-Identifier: Apache-2.0
// docs/cli.md, from the tree of commands.
#include "base/format.h"
#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

/// Settings of a node as flags: docs/config.md has them.
bool is_setting(const CLI::Option& option) {
    return option.get_group() != "Options";
}

std::string sentence(const std::string& text) {
    return text.ends_with('?') ? text : text + ".";
}

std::string cell(const std::string& text) {
    std::string out;
    for (const char c : text) {
        out += c == '|' ? std::string("\\|") : c == '<' ? std::string("&lt;") : std::string(1, c);
    }
    return out;
}

void add_rows(const CLI::App& app, std::string& page, bool& has_settings) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_name() == "--help") {
            continue;
        }
        if (is_setting(*option)) {
            has_settings = true;
            continue;
        }
        const std::string value = option->get_default_str();
        page += fmt::format(
            "| `{}` | {}{}{} |\n",
            option->get_name(),
            cell(option->get_description()),
            option->get_required() && option->nonpositional() ? "; must be given" : "",
            value.empty() ? "" : fmt::format("; `{}` by default", value)
        );
    }
    for (const CLI::App* group :
         app.get_subcommands([](const CLI::App* inner) { return inner->get_name().empty(); })) {
        add_rows(*group, page, has_settings);
    }
}

void add_command(const CLI::App& command, const std::string& path, std::string& page) {
    page += fmt::format("### {}\n\n{}\n\n", path, sentence(command.get_description()));
    std::string rows;
    bool has_settings = false;
    add_rows(command, rows, has_settings);
    if (!rows.empty()) {
        page += fmt::format("| | |\n|---|---|\n{}\n", rows);
    }
    if (has_settings) {
        page += "Every setting of [config.md](config.md) is a flag.\n\n";
    }
    page += "```sh\n";
    for (const std::string& example : examples_of(command)) {
        page += example + "\n";
    }
    page += "```\n\n";
}

}  // namespace

std::string manual(const CLI::App& root) {
    std::string page =
        "# Commands\n\n"
        "Made by `lakestream manual` from the texts of `--help`; a test compares.\n\n"
        "`--format json` prints one JSON object per line; its names are those of the columns of "
        "text. stdout is data,\nstderr is logs and progress. Exit codes: 0 done, 1 failed or "
        "problems found, 2 wrong usage; more in\n[operations.md](operations.md). Words in the "
        "first column without dashes are given by place.\n\n";
    for (const CLI::App* noun : shown_commands(root)) {
        page += fmt::format("## {}\n\n", noun->get_name());
        const auto commands = shown_commands(*noun);
        if (commands.empty()) {
            add_command(*noun, "lakestream " + noun->get_name(), page);
            continue;
        }
        page += sentence(noun->get_description()) + "\n\n";
        for (const CLI::App* command : commands) {
            add_command(
                *command,
                fmt::format("lakestream {} {}", noun->get_name(), command->get_name()),
                page
            );
        }
    }
    page.pop_back();
    return page;
}

}  // namespace lakestream::cli
