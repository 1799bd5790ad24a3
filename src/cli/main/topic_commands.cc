// SPDX-License-Identifier: Apache-2.0
// The noun `topic`: its commands and their options.
#include <map>

#include "cli/main/command_line.h"
#include "cli/text.h"

namespace lakestream::cli {

namespace {

/// A command about one topic of a broker.
CLI::App& topic_command(
    CommandLine& line, CLI::App& topic, const std::string& name, const About& about
) {
    CLI::App& added = line.command(topic, name, about);
    line.add_bootstrap(added);
    line.add_topic_name(added);
    return added;
}

void add_life(CommandLine& line, CLI::App& topic) {
    CLI::App& create = line.command(
        topic,
        "create",
        {.help = "Create topics",
         .examples =
             {"topic create orders",
              "topic create orders returns --partitions 12 --config retention.ms=-1"}}
    );
    TopicCreate& options = line.make<TopicCreate>();
    line.add_bootstrap(create);
    line.add_format(create);
    create.add_option("topic", options.names, "Names of topics")->required();
    create.add_option("--partitions", options.partitions, "How many; else as the broker likes");
    parsed_by<&parse_config>(
        create.add_option("--config", options.configs, "NAME=VALUE, may be repeated")
            ->allow_extra_args(false)
    );
    create
        .add_option(
            "--replication-factor",
            options.replication_factor,
            "Taken, and without meaning: storage replicates"
        )
        ->check(CLI::Range(1, 0x7fff));
    line.act(create, [&] {
        options.format = line.format();
        return exit_of(topic_create(line.bootstrap(), options));
    });

    CLI::App& list = line.command(
        topic,
        "list",
        {.help = "List topics", .examples = {"topic list", "topic list --format json"}}
    );
    line.add_bootstrap(list);
    line.add_format(list);
    line.act(list, [&] { return exit_of(topic_list(line.bootstrap(), line.format())); });

    CLI::App& describe = topic_command(
        line,
        topic,
        "describe",
        {.help = "Partitions and their offsets", .examples = {"topic describe orders"}}
    );
    line.add_format(describe);
    line.act(describe, [&] {
        return exit_of(topic_describe(line.bootstrap(), line.topic(), line.format()));
    });

    CLI::App& remove = line.command(
        topic,
        "delete",
        {.help = "Delete topics and their records", .examples = {"topic delete orders returns"}}
    );
    auto& names = line.make<std::vector<std::string>>();
    line.add_bootstrap(remove);
    line.add_format(remove);
    remove.add_option("topic", names, "Names of topics")->required();
    line.act(remove, [&] { return exit_of(topic_delete(line.bootstrap(), names, line.format())); });
}

void add_changes(CommandLine& line, CLI::App& topic) {
    CLI::App& alter = topic_command(
        line,
        topic,
        "alter-config",
        {.help = "Change the configuration of a topic",
         .examples =
             {"topic alter-config orders --set retention.ms=86400000",
              "topic alter-config orders --delete retention.ms --dry-run"}}
    );
    ConfigChange& change = line.make<ConfigChange>();
    parsed_by<&parse_config>(alter.add_option("--set", change.set, "NAME=VALUE, may be repeated")
                                 ->allow_extra_args(false));
    alter.add_option("--delete", change.unset, "NAME, back to its default; may be repeated")
        ->allow_extra_args(false);
    alter.add_flag("--dry-run", change.dry_run, "Only ask whether the broker would");
    line.add_format(alter);
    line.act(alter, [&] {
        change.format = line.format();
        return exit_of(config_change(line.bootstrap(), {.topic = line.topic()}, change));
    });

    CLI::App& add = topic_command(
        line,
        topic,
        "add-partitions",
        {.help = "Give a topic more partitions", .examples = {"topic add-partitions orders --num 4"}
        }
    );
    auto& more = line.make<std::int32_t>();
    add.add_option("--num", more, "How many more")->required()->check(CLI::Range(1, 1'000'000));
    line.add_format(add);
    line.act(add, [&] {
        return exit_of(topic_add_partitions(line.bootstrap(), line.topic(), more, line.format()));
    });

    CLI::App& trim = topic_command(
        line,
        topic,
        "trim",
        {.help = "Delete a topic's records before an offset or a time",
         .examples =
             {"topic trim orders --to end",
              "topic trim orders --to @2026-07-01T00:00:00Z --dry-run",
              "topic trim orders --to 1000 --partition 3"}}
    );
    trim.alias("trim-prefix");
    Trim& options = line.make<Trim>();
    auto& to = line.make<std::string>();
    parsed_by<&parse_from>(
        trim.add_option("--to", to, "end, an offset, or @TIME (ms or RFC 3339): the first to stay")
            ->required()
    );
    not_negative(trim.add_option("--partition", options.partition, "This one only"));
    trim.add_flag("--dry-run", options.dry_run, "Only print what would be");
    line.add_format(trim);
    line.act(trim, [&]() -> Result<Exit> {
        options.topic = line.topic();
        options.format = line.format();
        options.to = LKS_TRY(parse_from(to));
        return exit_of(topic_trim(line.bootstrap(), options));
    });
}

void add_produce(CommandLine& line, CLI::App& topic) {
    CLI::App& produce = topic_command(
        line,
        topic,
        "produce",
        {.help = "Write the lines of stdin",
         .examples =
             {"topic produce orders < lines.txt",
              "topic produce orders --keyed --compression zstd < key-tab-value.txt",
              "topic produce orders --key k1 --header source=shop",
              "topic produce orders --format json < records.json"}}
    );
    Produce& options = line.make<Produce>();
    produce.add_flag("--keyed", options.keyed, "Lines are KEY<TAB>VALUE");
    produce.add_option("--key", options.key, "Key of all records");
    not_negative(produce.add_option("--partition", options.partition, "Write to this one only"));
    parsed_by<&parse_config>(
        produce.add_option("--header", options.headers, "NAME=VALUE of all, may be repeated")
            ->allow_extra_args(false)
    );
    auto& codec = line.make<std::string>();
    codec = codec::to_string(options.compression);
    std::map<std::string, codec::Compression> codecs;
    for (unsigned number = 0; const auto known = codec::compression_from(number); ++number) {
        codecs.emplace(codec::to_string(*known), *known);
    }
    produce.add_option("--compression", codec, "none, gzip, snappy, lz4 or zstd")
        ->check(CLI::IsMember({"none", "gzip", "snappy", "lz4", "zstd"}))
        ->capture_default_str();
    line.add_format(produce);
    line.act(produce, [&, codecs] {
        options.compression = codecs.at(codec);
        options.topic = line.topic();
        options.format = line.format();
        return exit_of(topic_produce(line.bootstrap(), options));
    });
}

void add_consume(CommandLine& line, CLI::App& topic) {
    CLI::App& consume = topic_command(
        line,
        topic,
        "consume",
        {.help = "Print records",
         .examples =
             {"topic consume orders",
              "topic consume orders --from @2026-07-01T00:00:00Z --count 10 --format json",
              "topic consume orders --group billing --follow"}}
    );
    Consume& options = line.make<Consume>();
    auto& from = line.make<std::string>();
    from = "beginning";
    line.add_format(consume);
    parsed_by<&parse_from>(
        consume.add_option("--from", from, "beginning, end, an offset, or @TIME (ms or RFC 3339)")
            ->capture_default_str()
    );
    CLI::Option* const group = consume.add_option(
        "--group",
        options.group,
        "Share partitions with this group; its offsets are used, and committed"
    );
    not_negative(consume.add_option("--count", options.count, "Stop after so many records"));
    not_negative(
        consume.add_option("--partition", options.partition, "Read this one only")->excludes(group)
    );
    consume.add_flag("--keyed", options.keyed, "Print KEY<TAB>VALUE");
    consume.add_flag("--follow", options.follow, "At the end, wait for further records");
    line.act(consume, [&]() -> Result<Exit> {
        options.topic = line.topic();
        options.format = line.format();
        options.from = LKS_TRY(parse_from(from));
        return exit_of(topic_consume(line.bootstrap(), options));
    });
}

}  // namespace

void add_topic(CommandLine& line) {
    CLI::App& topic = line.noun("topic", "Topics of a running broker");
    add_life(line, topic);
    add_changes(line, topic);
    add_produce(line, topic);
    add_consume(line, topic);
}

}  // namespace lakestream::cli
