// SPDX-License-Identifier: Apache-2.0
// Settings: every row round-trips, sources win in order, wrong input is named.
#include "server/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

namespace lakestream::server {
namespace {

using ::testing::HasSubstr;

Status load(const std::string& toml, std::vector<std::string> environment, Settings& settings) {
    std::vector<Assignment> all = LKS_TRY(read_toml(toml, "test.toml"));
    for (Assignment& one : LKS_TRY(read_environment(environment))) {
        all.push_back(std::move(one));
    }
    return apply_settings(all, settings);
}

Settings in_folder() {
    Settings settings;
    EXPECT_TRUE(use_data_dir(settings, "/data").ok());
    return settings;
}

std::string error_of(const std::string& toml, std::vector<std::string> environment = {}) {
    Settings settings = in_folder();
    const Status status = load(toml, std::move(environment), settings);
    return status.ok() ? "no error" : status.error().message;
}

TEST(Settings, ADataFolderNeedsAName) {
    Settings settings;
    EXPECT_TRUE(use_data_dir(settings, "").is(ErrorCode::invalid_argument));
    EXPECT_TRUE(use_data_dir(settings, "here").ok());
    EXPECT_TRUE(settings.storage.starts_with("file:///")) << settings.storage;
}

TEST(SettingsTable, EveryDefaultIsInRangeAndRoundTrips) {
    std::set<std::string> flags;
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            Settings settings;
            const std::string text = show_value(setting, settings);
            if (text.empty()) {
                continue;
            }
            const Status status = assign(setting, settings, text);
            EXPECT_TRUE(status.ok()) << setting.name << ": " << status.error().message;
            EXPECT_EQ(show_value(setting, settings), text) << setting.name;
            EXPECT_TRUE(flags.insert(flag_name(setting)).second) << setting.name;
            EXPECT_TRUE(setting.doc.ends_with('.')) << setting.name;
            const std::string prefix = std::string(table.module) + ".";
            EXPECT_TRUE(table.module.empty() || setting.name.starts_with(prefix)) << setting.name;
        }
    }
    EXPECT_TRUE(changed_settings(Settings{}).empty());
}

TEST(SettingsTable, EveryBoundIsEnforced) {
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            Settings settings;
            const bool number =
                !std::holds_alternative<std::string*>(setting.place(settings)) &&
                !std::holds_alternative<bool*>(setting.place(settings)) &&
                !std::holds_alternative<std::vector<std::string>*>(setting.place(settings));
            if (!number) {
                continue;
            }
            const std::string_view unit = setting.unit == Unit::time ? "ns" : "";
            const auto text = [&](std::int64_t n) { return fmt::format("{}{}", n, unit); };
            EXPECT_TRUE(assign(setting, settings, text(setting.min)).ok()) << setting.name;
            EXPECT_FALSE(assign(setting, settings, text(setting.min - 1)).ok()) << setting.name;
            EXPECT_TRUE(assign(setting, settings, text(setting.max)).ok()) << setting.name;
            if (setting.max < std::numeric_limits<std::int64_t>::max()) {
                EXPECT_FALSE(assign(setting, settings, text(setting.max + 1)).ok()) << setting.name;
            }
        }
    }
}

TEST(Settings, NamesInAllSources) {
    const Setting& setting = *find_setting("log.object_bytes_max");
    EXPECT_EQ(environment_name(setting), "LAKESTREAM_LOG_OBJECT_BYTES_MAX");
    EXPECT_EQ(flag_name(setting), "--log-object-bytes-max");
}

TEST(Settings, EnvironmentWinsOverFile) {
    Settings settings = in_folder();
    const std::string file = R"(
        storage = "file:///a"
        roles = ["broker"]
        [kafka]
        listen = "0.0.0.0:1"
        auto_create_topics = false
        [log]
        linger = "20ms"
        object_bytes_max = 1048576
    )";
    const Status status =
        load(file, {"PATH=/bin", "LAKESTREAM_KAFKA_LISTEN=127.0.0.1:2"}, settings);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(settings.node.kafka_listen, "127.0.0.1:2");
    EXPECT_EQ(settings.node.log.linger, 20ms);
    EXPECT_EQ(settings.node.log.object_bytes_max, 1U << 20);
    EXPECT_FALSE(settings.node.kafka.broker.auto_create_topics);
    EXPECT_TRUE(settings.node.has_role("broker"));
    EXPECT_FALSE(settings.node.has_role("catalog"));
    EXPECT_THAT(
        changed_settings(settings),
        ::testing::ElementsAre(
            "storage=file:///a",
            "metadata=embedded:///data/metadata",
            "roles=broker",
            "kafka.listen=127.0.0.1:2",
            "kafka.auto_create_topics=false",
            "log.object_bytes_max=1MiB",
            "log.linger=20ms"
        )
    );
}

TEST(Settings, UnknownKeysNameTheNearest) {
    EXPECT_EQ(
        error_of("\n[kafka]\nlisten_on = \"a:1\""),
        "test.toml:3: unknown key kafka.listen_on; the nearest is kafka.listen"
    );
    EXPECT_EQ(
        error_of("", {"LAKESTREAM_STORAG=x"}),
        "environment: unknown variable LAKESTREAM_STORAG; the nearest is LAKESTREAM_STORAGE"
    );
}

TEST(Settings, WrongValuesSayWhatIsAllowed) {
    EXPECT_EQ(
        error_of("roles = [\"broker\", \"king\"]"),
        "test.toml:1: roles: \"king\" is not: list of broker, compactor, catalog"
    );
    EXPECT_EQ(
        error_of("[log]\nlinger = 20"), "test.toml:2: log.linger: \"20\" is not: time, 0ns to 10s"
    );
    EXPECT_EQ(
        error_of("[log]\nuploads_max = 100"),
        "test.toml:2: log.uploads_max: \"100\" is not: number, 1 to 64"
    );
    EXPECT_THAT(error_of("[log]\nuploads_max = 1.5"), HasSubstr("is not: number, 1 to 64"));
    EXPECT_THAT(
        error_of("[log]\nappend_bytes_max = \"9999999999GiB\""), HasSubstr("is not: bytes")
    );
    EXPECT_THAT(error_of("storage = \"/data\""), HasSubstr("is not: SCHEME://PLACE"));
    EXPECT_THAT(error_of("[kafka]\nlisten = \"9092\""), HasSubstr("kafka.listen"));
    const std::string binary = error_of(
        "\x7f"
        "ELF\x02\x1b[31m\xff" +
        std::string(5000, '\xfe')
    );
    EXPECT_TRUE(std::ranges::all_of(binary, [](char c) {
        return c == '\n' || (c >= ' ' && c <= '~');
    })) << binary;
    EXPECT_LT(binary.size(), 3000U);
    EXPECT_THAT(error_of("storage = "), HasSubstr("test.toml"));
    EXPECT_THAT(
        error_of("[log]\nbackoff_min = \"10s\"\nbackoff_max = \"1s\""), HasSubstr("backoff_max")
    );
}

TEST(Settings, WhatIsNotServedIsRefused) {
    EXPECT_EQ(error_of(""), "no error");
    EXPECT_THAT(error_of("storage = \"s3://bucket\""), HasSubstr("only file:///FOLDER is served"));
    EXPECT_THAT(
        error_of("metadata = \"oxia://host\""), HasSubstr("only embedded:///FOLDER is served")
    );
    EXPECT_THAT(error_of("storage = \"file://data\""), HasSubstr("must begin with /"));
    EXPECT_THAT(error_of("storage = \"file://\""), HasSubstr("must begin with /"));
    Settings nowhere;
    EXPECT_THAT(apply_settings({}, nowhere).error().message, HasSubstr("storage is not set"));
    EXPECT_THAT(error_of("compat = \"ursa-shared\""), HasSubstr("not served yet"));
    EXPECT_EQ(error_of("compat = \"none\""), "no error");
}

TEST(Settings, AProcessHasARoleThatDoesSomething) {
    NodeSettings node;
    EXPECT_TRUE(check_process_roles(node).ok());
    node.roles = {"compactor"};
    EXPECT_TRUE(check_process_roles(node).ok());
    for (const std::vector<std::string>& roles : {std::vector<std::string>(), {"catalog"}}) {
        node.roles = roles;
        EXPECT_THAT(
            check_process_roles(node).error().message, HasSubstr("would do nothing; broker serves")
        );
    }
}

TEST(Settings, EveryAddressNeedsOneForClients) {
    const std::string listen = "[kafka]\nlisten = \"0.0.0.0:9092\"\n";
    EXPECT_THAT(error_of(listen), HasSubstr("set kafka.advertise"));
    EXPECT_THAT(error_of("[kafka]\nlisten = \"[::]:9092\"\n"), HasSubstr("set kafka.advertise"));
    EXPECT_EQ(error_of(listen + "advertise = \"broker:9092\""), "no error");
    EXPECT_EQ(error_of("roles = [\"compactor\"]\n" + listen), "no error");
}

std::string repeat(std::string_view text, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

TEST(Settings, WhatTheParserCannotBearIsRefused) {
    const std::string deep = "test.toml:2: more than 32 brackets inside each other";
    EXPECT_EQ(error_of("\nzone = " + repeat("[", 60'000)), deep);
    EXPECT_EQ(error_of("\nzone = " + repeat("{a=", 20'000)), deep);
    EXPECT_EQ(error_of("\nzone = [\"]]\", " + repeat("[", 32)), deep);
    EXPECT_EQ(
        error_of("a" + repeat(".a", 30'000) + " = 1"),
        "test.toml:1: more than 32 dots inside each other"
    );
    EXPECT_THAT(error_of("zone = \"\\\"\" " + repeat(".", 33)), HasSubstr("dots"));
    EXPECT_THAT(error_of("zone = \"" + repeat("a", toml_bytes_max) + "\""), HasSubstr("64 KiB"));
}

TEST(Settings, DotsAndBracketsInTextAreText) {
    const std::string many = repeat("[.", 1000);
    EXPECT_EQ(error_of("zone = \"" + many + "\""), "no error");
    EXPECT_EQ(error_of("zone = '" + many + "'"), "no error");
    EXPECT_EQ(error_of("zone = \"\"\"\\\"\n" + many + "\"\"\""), "no error");
    EXPECT_EQ(error_of("zone = '''\n'" + many + "'''"), "no error");
    EXPECT_EQ(error_of("# " + many + "\nzone = \"a\" # " + many), "no error");
    EXPECT_EQ(error_of("#"), "no error");
    EXPECT_EQ(error_of(repeat("# [ ' \" .\n", 1000) + "zone = \"a\""), "no error");
}

TEST(Settings, Nearest) {
    const std::vector<std::string> words = {"alpha", "beta", "gamma"};
    EXPECT_EQ(nearest("bet", words), "beta");
    EXPECT_EQ(nearest("gmma", words), "gamma");
    EXPECT_EQ(nearest("", words), std::nullopt);
    EXPECT_EQ(nearest("zzta", words), std::nullopt);  // half of it
    EXPECT_EQ(nearest("--foo", std::vector<std::string>{"--help"}), std::nullopt);
    EXPECT_EQ(nearest("beta", {}), std::nullopt);
}

TEST(Settings, DocumentIsFresh) {
    std::ifstream in(LKS_SOURCE_DIR "/docs/config.md");
    const std::string stored{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(stored, settings_markdown()) << "stale: lakestream settings > docs/config.md";
}

TEST(Settings, ClientsAreToldEveryOne) {
    Settings settings = in_folder();
    ASSERT_TRUE(load("[kafka]\nlisten = \"127.0.0.1:7\"", {}, settings).ok());
    const auto described = describe_settings(settings);
    std::size_t rows = 0;
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            rows += setting.kafka.name.empty() ? 1 : 2;
        }
    }
    EXPECT_EQ(described.size(), rows);
    EXPECT_TRUE(std::ranges::is_sorted(described, {}, &kafka::BrokerConfig::name));
    const auto find = [&](std::string_view name) {
        return *std::ranges::find(described, name, &kafka::BrokerConfig::name);
    };
    EXPECT_EQ(find("kafka.listen").value, "127.0.0.1:7");
    EXPECT_EQ(find("kafka.listen").source, kafka::ConfigSource::broker);
    EXPECT_EQ(find("table.default").source, kafka::ConfigSource::built_in);
    EXPECT_EQ(find("table.default").type, kafka::ConfigType::boolean);
    EXPECT_EQ(find("process.shards").type, kafka::ConfigType::int64);
    EXPECT_EQ(find("roles").type, kafka::ConfigType::list);
    EXPECT_FALSE(find("roles").doc.empty());
}

TEST(Settings, ClientsAreToldByKafkasNamesInItsUnits) {
    Settings settings = in_folder();
    const std::string file = R"(
[kafka]
request_bytes_max = "2MiB"
auto_create_topics = false
[group]
session_timeout_min = "1500ms"
offsets_retention = "61s"
members_max = 7
[retention]
time = "2h"
bytes = 4096
)";
    const Status loaded = load(file, {}, settings);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const auto described = describe_settings(settings);
    using enum kafka::ConfigType;
    using enum kafka::ConfigSource;
    struct Told {
        std::string name;
        std::string value;
        kafka::ConfigType type;
        kafka::ConfigSource source = broker;
    };
    const Told told[] = {
        {"socket.request.max.bytes", "2097152", int32},
        {"auto.create.topics.enable", "false", boolean},
        {"group.min.session.timeout.ms", "1500", int32},
        {"offsets.retention.minutes", "2", int32},  // 1 would be too soon
        {"group.max.size", "7", int32},
        {"log.retention.ms", "7200000", int64},
        {"log.retention.bytes", "4096", int64},
        {"group.max.session.timeout.ms", "1800000", int32, built_in},
        {"group.initial.rebalance.delay.ms", "3000", int32, built_in},
    };
    for (const auto& [name, value, type, source] : told) {
        const auto found = std::ranges::find(described, name, &kafka::BrokerConfig::name);
        ASSERT_NE(found, described.end()) << name;
        EXPECT_EQ(found->value, value) << name;
        EXPECT_EQ(found->type, type) << name;
        EXPECT_EQ(found->source, source) << name;
    }
}

TEST(Settings, MarkdownHasEveryRow) {
    const std::string text = settings_markdown();
    for (const SettingTable& table : setting_tables()) {
        for (const Setting& setting : table.settings) {
            EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` |", setting.name)));
        }
    }
}

}  // namespace
}  // namespace lakestream::server
