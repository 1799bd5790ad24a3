// SPDX-License-Identifier: Apache-2.0
// CommandLine: the tree of commands, and what reads the words of one into an action.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/text.h"

namespace lakestream::cli {

/// A command: how it ends, or why it could not do its work.
using Action = std::function<Result<Exit>()>;

/// How a command is described. Every command has an example, and a test parses it.
struct About {
    std::string help;
    std::vector<std::string> examples;  // behind `lakestream `
};

/// The tree is made of nouns, each added by a file of its own (`add_topic` and so on below).
class CommandLine {
  public:
    /// `environment`: NAME=VALUE, where `server` and `dev` look for settings.
    explicit CommandLine(std::vector<std::string> environment);
    CommandLine(const CommandLine&) = delete;
    CommandLine& operator=(const CommandLine&) = delete;

    /// Parse, run, write out what was printed; errors go to stderr. Gives the exit code of the
    /// process.
    int run(const std::vector<std::string>& words);

    /// Parse only. Nothing when there is an action to run now; else how it ended: help was printed,
    /// or what is wrong was said.
    std::optional<Exit> parse(const std::vector<std::string>& words);

    const CLI::App& root() const { return root_; }
    const std::vector<std::string>& environment() const { return environment_; }

    // What nouns are made of.

    /// A word with commands behind it.
    CLI::App& noun(const std::string& name, const std::string& help);
    CLI::App& command(CLI::App& parent, const std::string& name, const About& about);
    CLI::App& command(const std::string& name, const About& about) {
        return command(root_, name, about);
    }
    void act(CLI::App& command, Action action);

    /// Options that live as long as the command line.
    template <class T>
    T& make() {
        auto made = std::make_shared<T>();
        T& options = *made;
        owned_.push_back(std::move(made));
        return options;
    }

    // What several commands have; only one of them runs.

    void add_bootstrap(CLI::App& command);
    void add_http(CLI::App& command);
    void add_format(CLI::App& command);
    void add_data_dir(
        CLI::App& command, const std::string& help = "The folder of `lakestream dev`"
    );
    void add_topic_name(CLI::App& command, const std::string& help = "Name of the topic");

    const std::string& bootstrap() const { return bootstrap_; }
    const std::string& http() const { return http_; }
    const std::string& topic() const { return topic_; }
    const std::string& data_dir() const { return data_dir_; }
    RecordFormat format() const {
        return format_ == "json" ? RecordFormat::json : RecordFormat::text;
    }

  private:
    Exit answer(const CLI::ParseError& error);
    std::string about_extras(const CLI::App& used, const std::string& path) const;

    CLI::App root_{"Lakestream: stream storage on object storage", "lakestream"};
    const std::vector<std::string> environment_;
    std::vector<std::shared_ptr<void>> owned_;
    Action action_;
    std::string bootstrap_ = "127.0.0.1:9092";
    std::string http_ = "127.0.0.1:9644";
    std::string topic_;
    std::string data_dir_ = "lakestream-data";
    std::string format_ = "text";
};

/// A text that `parse` refuses is wrong usage.
template <auto parse>
void parsed_by(CLI::Option* option) {
    option->check([](const std::string& text) -> std::string {
        const auto parsed = parse(text);
        return parsed.ok() ? "" : parsed.error().message;
    });
}

/// CLI11 by itself takes the nearest number that it can hold.
inline void not_negative(CLI::Option* option) {
    parsed_by<&parse_integer>(option);
}

/// The command did its work, or why not.
inline Result<Exit> exit_of(const Status& status) {
    return status.ok() ? Result<Exit>(Exit::ok) : Result<Exit>(status.error());
}

void add_server(CommandLine& line);
void add_topic(CommandLine& line);
void add_config(CommandLine& line);
void add_group(CommandLine& line);
void add_cluster(CommandLine& line);
void add_table(CommandLine& line);
void add_stored(CommandLine& line);
void add_bench(CommandLine& line);
void add_diagnosis(CommandLine& line);
void add_about(CommandLine& line);

/// The script that completes `lakestream` in a shell. Precondition: bash, zsh or fish.
std::string completion_script(const CLI::App& root, const std::string& shell);

/// docs/cli.md.
std::string manual(const CLI::App& root);

/// The commands and nouns of `app` that are not hidden, in order.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// The flags of a command, those in groups too.
std::vector<const CLI::Option*> flags_of(const CLI::App& command);

/// The examples of a command.
std::vector<std::string> examples_of(const CLI::App& command);

}  // namespace lakestream::cli
