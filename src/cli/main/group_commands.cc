// SPDX-License-Identifier: Apache-2.0
// The noun `group`: its commands and their options.
#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

struct GroupAsked {
    std::vector<std::string> groups;
    GroupSeek seek;
    std::string to;
    std::string topic;
    std::optional<std::int32_t> partition;
};

CLI::App& group_command(
    CommandLine& line,
    CLI::App& noun,
    const std::string& name,
    GroupAsked& asked,
    const About& about
) {
    CLI::App& added = line.command(noun, name, about);
    line.add_bootstrap(added);
    added.add_option("group", asked.seek.group, "Name of the group")->required();
    return added;
}

void add_reading(CommandLine& line, CLI::App& noun, GroupAsked& asked) {
    CLI::App& list =
        line.command(noun, "list", {.help = "Groups and their states", .examples = {"group list"}});
    line.add_bootstrap(list);
    line.add_format(list);
    line.act(list, [&] { return exit_of(group_list(line.bootstrap(), line.format())); });

    CLI::App& describe = group_command(
        line,
        noun,
        "describe",
        asked,
        {.help = "Committed offsets and lag of each partition, and who reads it",
         .examples = {"group describe billing", "group describe billing --format json"}}
    );
    line.add_format(describe);
    line.act(describe, [&] {
        return exit_of(group_describe(line.bootstrap(), asked.seek.group, line.format()));
    });

    CLI::App& members = group_command(
        line,
        noun,
        "members",
        asked,
        {.help = "Who is in a group, and what each reads", .examples = {"group members billing"}}
    );
    line.add_format(members);
    line.act(members, [&] {
        return exit_of(group_members(line.bootstrap(), asked.seek.group, line.format()));
    });
}

void add_changing(CommandLine& line, CLI::App& noun, GroupAsked& asked) {
    CLI::App& remove = line.command(
        noun,
        "delete",
        {.help = "Delete groups that are empty, with their offsets",
         .examples = {"group delete billing", "group delete billing audit"}}
    );
    line.add_bootstrap(remove);
    remove.add_option("group", asked.groups, "Names of groups")->required();
    line.add_format(remove);
    line.act(remove, [&] {
        return exit_of(group_delete(line.bootstrap(), asked.groups, line.format()));
    });

    CLI::App& seek = group_command(
        line,
        noun,
        "seek",
        asked,
        {.help = "Move the committed offsets of an empty group",
         .examples =
             {"group seek billing --to beginning --dry-run",
              "group seek billing --to @2026-07-01T00:00:00Z",
              "group seek billing --to 1000 --topic orders --partition 3"}}
    );
    seek.alias("reset-offsets");
    parsed_by<&parse_from>(
        seek.add_option("--to", asked.to, "beginning, end, an offset, or @TIME (ms or RFC 3339)")
            ->required()
    );
    seek.add_option(
        "--topic", asked.seek.topic, "This one only; also one that is new to the group"
    );
    not_negative(seek.add_option("--partition", asked.seek.partition, "This one only"));
    seek.add_flag("--dry-run", asked.seek.dry_run, "Only print what would be");
    line.add_format(seek);
    line.act(seek, [&]() -> Result<Exit> {
        asked.seek.format = line.format();
        asked.seek.to = LKS_TRY(parse_from(asked.to));
        return exit_of(group_seek(line.bootstrap(), asked.seek));
    });

    CLI::App& forget = group_command(
        line,
        noun,
        "delete-offsets",
        asked,
        {.help = "Forget a group's offsets of a topic it does not read now",
         .examples = {"group delete-offsets billing --topic orders"}}
    );
    forget.add_option("--topic", asked.topic, "Offsets of this topic")->required();
    not_negative(forget.add_option("--partition", asked.partition, "This one only"));
    line.add_format(forget);
    line.act(forget, [&] {
        return exit_of(group_delete_offsets(
            line.bootstrap(), asked.seek.group, asked.topic, asked.partition, line.format()
        ));
    });
}

}  // namespace

void add_group(CommandLine& line) {
    CLI::App& noun = line.noun("group", "Consumer groups and their offsets");
    GroupAsked& asked = line.make<GroupAsked>();
    add_reading(line, noun, asked);
    add_changing(line, noun, asked);
}

}  // namespace lakestream::cli
