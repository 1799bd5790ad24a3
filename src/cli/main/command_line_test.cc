// SPDX-License-Identifier: Apache-2.0
// The tree of commands: every one has help and examples that parse; docs/cli.md is what it says.
#include "cli/main/command_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace lakestream::cli {
namespace {

/// Commands that do something, with their paths.
void collect(const CLI::App& app, std::vector<const CLI::App*>& leaves) {
    for (const CLI::App* command :
         app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); })) {
        const std::size_t before = leaves.size();
        collect(*command, leaves);
        if (leaves.size() == before) {
            leaves.push_back(command);
        }
    }
}

std::vector<const CLI::App*> all_commands(const CommandLine& line) {
    std::vector<const CLI::App*> leaves;
    collect(line.root(), leaves);
    return leaves;
}

/// Words as a shell makes them, up to a redirection.
std::vector<std::string> words_of(const std::string& example) {
    std::istringstream in(example);
    std::vector<std::string> words;
    for (std::string word; in >> word && word != "<" && word != ">";) {
        words.push_back(word);
    }
    words.erase(words.begin());
    return words;
}

TEST(CommandLineTree, EveryExampleParses) {
    const CommandLine line({});
    std::size_t examples = 0;
    for (const CLI::App* command : all_commands(line)) {
        EXPECT_FALSE(command->get_description().empty()) << command->get_name();
        const auto given = examples_of(*command);
        EXPECT_FALSE(given.empty()) << command->get_name();
        for (const std::string& example : given) {
            CommandLine fresh({});
            EXPECT_EQ(fresh.parse(words_of(example)), std::nullopt) << example;
            EXPECT_NE(example.find(" " + command->get_name()), std::string::npos) << example;
            ++examples;
        }
    }
    EXPECT_GT(examples, 40);
}

TEST(CommandLineTree, EveryFlagSaysWhatItIs) {
    const CommandLine line({});
    for (const CLI::App* command : all_commands(line)) {
        for (const CLI::Option* option : command->get_options()) {
            const bool plain = command->get_parent()->get_name() == "bench";
            EXPECT_TRUE(plain || !option->get_description().empty())
                << command->get_name() << " " << option->get_name();
        }
    }
}

std::string complaint_about(const std::vector<std::string>& words) {
    CommandLine line({});
    testing::internal::CaptureStderr();
    const auto ended = line.parse(words);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(ended, Exit::usage);
    return said;
}

TEST(CommandLineTree, WordsThatNobodyKnowsHaveNeighbours) {
    EXPECT_EQ(
        complaint_about({"topc", "list"}),
        "lakestream: unexpected \"topc\"; the nearest is `lakestream topic`\n"
    );
    EXPECT_EQ(
        complaint_about({"group", "descrbe", "g"}),
        "lakestream: unexpected \"descrbe\"; the nearest is `lakestream group describe`\n"
    );
    EXPECT_EQ(
        complaint_about({"topic", "consume", "t", "--folow"}),
        "lakestream: unknown flag --folow; the nearest is --follow\n"
    );
    EXPECT_EQ(
        complaint_about({"config", "get", "--topik", "t", "x"}),
        "lakestream: unknown flag --topik; the nearest is --topic\n"
    );
    EXPECT_NE(complaint_about({"sing"}).find("see `lakestream --help`"), std::string::npos);
}

TEST(CommandLineTree, WrongUsageIsRefused) {
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"topic"},
        {"topic", "create"},
        {"topic", "add-partitions", "t", "--num", "0"},
        {"topic", "produce", "t", "--compression", "rar"},
        {"topic", "produce", "t", "--header", "x"},
        {"topic", "consume", "t", "--group", "g", "--partition", "1"},
        {"topic", "trim", "t"},
        {"topic", "trim", "t", "--to", "yesterday"},
        {"config", "list"},
        {"config", "list", "--topic", "t", "--broker", "0"},
        {"config", "set", "--topic", "t", "retention.ms"},
        {"group", "seek", "g"},
        {"group", "seek", "g", "--to", "-1"},
        {"group", "delete"},
        {"cluster", "health", "--http", "here"},
        {"cost", "workload"},
        {"cost", "workload", "--in", "1", "--store", "tape"},
        {"completion", "tcsh"},
    };
    for (const auto& words : wrong) {
        std::string shown;
        for (const std::string& word : words) {
            shown += " " + word;
        }
        EXPECT_TRUE(complaint_about(words).starts_with("lakestream: ")) << shown;
    }
}

TEST(CommandLineTree, AliasesAreTheSameCommand) {
    EXPECT_EQ(CommandLine({}).parse({"topic", "trim-prefix", "t", "--to", "end"}), std::nullopt);
    EXPECT_EQ(CommandLine({}).parse({"group", "reset-offsets", "g", "--to", "end"}), std::nullopt);
}

TEST(CommandLineTree, CompletionKnowsEveryCommandAndFlag) {
    const CommandLine line({});
    for (const std::string shell : {"bash", "zsh", "fish"}) {
        const std::string script = completion_script(line.root(), shell);
        for (const CLI::App* noun : shown_commands(line.root())) {
            EXPECT_NE(script.find(noun->get_name()), std::string::npos) << shell;
            for (const CLI::App* command : shown_commands(*noun)) {
                EXPECT_NE(
                    script.find(noun->get_name() + " " + command->get_name()), std::string::npos
                ) << shell
                  << " " << command->get_name();
            }
        }
        for (const std::string flag : {"bootstrap", "add-partitions", "kafka-listen", "topic"}) {
            EXPECT_NE(script.find(flag), std::string::npos) << shell << " " << flag;
        }
        EXPECT_EQ(script.find("manual"), std::string::npos) << "it is hidden";
    }
}

TEST(Manual, IsTheStoredPage) {
    std::ifstream in(LKS_SOURCE_DIR "/docs/cli.md");
    const std::string stored{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(stored, manual(CommandLine({}).root())) << "stale: lakestream manual > docs/cli.md";
}

}  // namespace
}  // namespace lakestream::cli
