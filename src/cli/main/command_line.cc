// SPDX-License-Identifier: Apache-2.0
// Parsing, help, and what is said about words that nobody knows.
#include "cli/main/command_line.h"

#include <algorithm>
#include <sstream>

#include "base/format.h"
#include "cli/text.h"
#include "net/net.h"
#include "server/settings.h"

namespace lakestream::cli {

namespace {

constexpr std::string_view example_indent = "  lakestream ";

void collect_flags(const CLI::App& app, std::vector<const CLI::Option*>& flags) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->nonpositional()) {
            flags.push_back(option);
        }
    }
    for (const CLI::App* group :
         app.get_subcommands([](const CLI::App* inner) { return inner->get_name().empty(); })) {
        collect_flags(*group, flags);
    }
}

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* flag : flags_of(app)) {
        names.push_back(flag->get_name());
    }
    return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : shown_commands(app)) {
        names.push_back(command->get_name());
    }
    return names;
}

}  // namespace

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) {
        return !command->get_name().empty() && !command->get_group().empty();
    });
}

std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
    std::vector<const CLI::Option*> flags;
    collect_flags(command, flags);
    return flags;
}

std::vector<std::string> examples_of(const CLI::App& command) {
    std::vector<std::string> examples;
    std::istringstream footer(command.get_footer());
    for (std::string row; std::getline(footer, row);) {
        if (row.starts_with(example_indent)) {
            examples.push_back(row.substr(2));
        }
    }
    return examples;
}

CommandLine::CommandLine(std::vector<std::string> environment)
    : environment_(std::move(environment)) {
    root_.require_subcommand(1);
    root_.set_help_flag("--help", "Show this help");
    add_server(*this);
    add_topic(*this);
    add_config(*this);
    add_group(*this);
    add_cluster(*this);
    add_table(*this);
    add_stored(*this);
    add_bench(*this);
    add_diagnosis(*this);
    add_about(*this);
}

int CommandLine::run(const std::vector<std::string>& words) {
    const std::optional<Exit> ended = parse(words);
    const Result<Exit> done = ended.has_value() ? Result<Exit>(*ended) : action_();
    const Status written = flush_lines();
    if (done.ok() && written.ok()) {
        return static_cast<int>(*done);
    }
    if (is_output_unread()) {
        return static_cast<int>(Exit::cut_off);
    }
    complain(done.ok() ? written.error().message : done.error().message);
    return static_cast<int>(Exit::failed);
}

std::optional<Exit> CommandLine::parse(const std::vector<std::string>& words) {
    // CLI11 wants them backwards, and reports by throwing, --help too.
    std::vector<std::string> backwards(words.rbegin(), words.rend());
    try {
        root_.parse(std::move(backwards));
    } catch (const CLI::ParseError& error) {
        return answer(error);
    }
    return std::nullopt;
}

/// Help that was asked for, or one line that says what is wrong.
Exit CommandLine::answer(const CLI::ParseError& error) {
    std::ostringstream help;
    std::ostringstream ignored;
    if (root_.exit(error, help, ignored) == 0) {
        std::string text = std::move(help).str();
        text.pop_back();  // the line's end is added again
        return put_line(text).ok() ? Exit::ok : Exit::failed;
    }
    const CLI::App* used = &root_;
    std::string path = root_.get_name();
    while (!used->get_subcommands().empty()) {
        used = used->get_subcommands().front();
        path += " " + used->get_name();
    }
    complain(
        root_.remaining(true).empty() ? fmt::format("{}; see `{} --help`", error.what(), path)
                                      : about_extras(*used, path)
    );
    return Exit::usage;
}

/// About the first word that nobody knows: a flag, if there is one.
std::string CommandLine::about_extras(const CLI::App& used, const std::string& path) const {
    const std::vector<std::string> extras = root_.remaining(true);
    const auto flag = std::ranges::find_if(extras, [](const std::string& extra) {
        return extra.starts_with('-');
    });
    const bool is_flag = flag != extras.end();
    const std::string name = is_flag ? flag->substr(0, flag->find('=')) : extras.front();
    const auto near = server::nearest(name, is_flag ? flag_names(used) : commands_of(used));
    if (is_flag) {
        return near.has_value() ? fmt::format("unknown flag {}; the nearest is {}", name, *near)
                                : fmt::format("unknown flag {}; see `{} --help`", name, path);
    }
    return near.has_value()
               ? fmt::format("unexpected \"{}\"; the nearest is `{} {}`", name, path, *near)
               : fmt::format("unexpected \"{}\"; see `{} --help`", name, path);
}

CLI::App& CommandLine::noun(const std::string& name, const std::string& help) {
    CLI::App& added = *root_.add_subcommand(name, help);
    added.set_help_flag("--help", "Show this help");
    added.require_subcommand(1);
    return added;
}

CLI::App& CommandLine::command(CLI::App& parent, const std::string& name, const About& about) {
    CLI::App& added = *parent.add_subcommand(name, about.help);
    added.set_help_flag("--help", "Show this help");
    std::string footer = about.examples.size() == 1 ? "Example:" : "Examples:";
    for (const std::string& example : about.examples) {
        footer += fmt::format("\n{}{}", example_indent, example);
    }
    added.footer(footer);
    return added;
}

void CommandLine::act(CLI::App& command, Action action) {
    command.callback([this, action = std::move(action)] { action_ = action; });
}

void CommandLine::add_bootstrap(CLI::App& command) {
    parsed_by<&net::Address::parse>(
        command.add_option("--bootstrap", bootstrap_, "Broker, HOST:PORT")->capture_default_str()
    );
}

void CommandLine::add_http(CLI::App& command) {
    parsed_by<&net::Address::parse>(
        command.add_option("--http", http_, "The node's http.listen, HOST:PORT")
            ->capture_default_str()
    );
}

void CommandLine::add_format(CLI::App& command) {
    command.add_option("--format", format_, "text, or json: one object per line")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
}

void CommandLine::add_data_dir(CLI::App& command, const std::string& help) {
    command.add_option("--data-dir", data_dir_, help)
        ->capture_default_str()
        ->check([](const std::string& text) -> std::string {
            return text.empty() ? "the name of a folder is wanted" : "";
        });
}

void CommandLine::add_topic_name(CLI::App& command, const std::string& help) {
    command.add_option("topic", topic_, help)->required();
}

}  // namespace lakestream::cli
