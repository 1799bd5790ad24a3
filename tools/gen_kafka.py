#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates C++ for Kafka's messages from third_party/kafka-protocol.

    gen_kafka.py --protocol DIR --out DIR API...     an API is a snake_case name: produce

Writes errors.{h,cc}, api_keys.{h,cc}, headers.{h,cc}, one <api>.{h,cc} per API, <name>_fields.h
beside each (field tables for tests and dumps) and all_messages.h. A file whose text did not change
is not touched. What the generated code looks like: docs/formats/kafka-messages.md.
"""

import argparse
import itertools
import json
import pathlib
import re

from kafka_model import (
    BANNER,
    clip,
    condition,
    FIXED,
    Message,
    NAMESPACE,
    outside,
    range_literal,
    range_text,
    SIZED,
    snake,
)
from kafka_tables import api_keys_files, errors_files

# declarations


def declare_struct(struct, indent):
    lines = []
    for field in struct.fields:
        declared = f"{field.cpp_type()} {field.name}{field.initialiser()};"
        lines.append(f"{indent}{declared}{field.comment(struct.versions)}")
    return lines


def declare_inner(message):
    """The structs inside a message, in a namespace of their own: were they defined inside the
    message's own struct, std::optional could not construct them (their member initialisers would
    come too late).
    """
    inner = [struct for struct in message.structs if struct is not message.root]
    if not inner:
        return []
    lines = [f"namespace {snake(message.name)} {{"]
    for struct in inner:
        lines += ["", f"struct {struct.name} {{"] + declare_struct(struct, "    ")
        lines += ["", f"    bool operator==(const {struct.name}&) const = default;", "};"]
    return lines + ["", f"}}  // namespace {snake(message.name)}", ""]


def declare_message(message):
    flexible = f", flexible from {message.flexible[0]}" if message.flexible else ", never flexible"
    key = f"API key {message.key}, " if message.key is not None else ""
    lines = declare_inner(message)
    lines += [
        f"/// {key}versions {range_text(message.versions)}{flexible}.",
        f"struct {message.name} {{",
    ]
    lines.append(f'    static constexpr std::string_view message_name = "{message.name}";')
    if message.key is not None:
        api = snake(re.sub("(Request|Response)$", "", message.name))
        lines.append(f"    static constexpr ApiKey api_key = ApiKey::{api};")
    lines.append(f"    static constexpr VersionRange versions{range_literal(message.versions)};")
    lines.append(
        f"    static constexpr VersionRange flexible_versions{range_literal(message.flexible)};"
    )
    inner = [struct.name for struct in message.structs if struct is not message.root]
    lines += [""] * bool(inner) + [
        f"    using {name} = {snake(message.name)}::{name};" for name in inner
    ]
    lines += [""] + declare_struct(message.root, "    ")
    lines += [
        "",
        "    /// Reads one message and nothing behind it. Errors: corrupt, unsupported version.",
        f"    static lakestream::Result<{message.name}> decode(Reader& reader, int version);",
        "    /// Errors: invalid_argument if the version cannot carry a value (throw away what was",
        "    /// written then), unsupported version.",
        "    lakestream::Status encode(Writer& writer, int version) const;",
        f"    bool operator==(const {message.name}&) const = default;",
        "};",
    ]
    return lines


def header_file(what, messages):
    api = any(message.key is not None for message in messages)
    lines = [BANNER.format(what=what) + "#pragma once", ""]
    lines += [
        "#include <cstdint>",
        "#include <limits>",
        "#include <optional>",
        "#include <string>",
        "#include <string_view>",
    ]
    lines += ["#include <utility>", "#include <vector>", ""]
    lines += ['#include "base/slices.h"']
    lines += ['#include "codec/kafka/gen/api_keys.h"'] if api else []
    lines += [
        '#include "codec/kafka/gen/errors.h"',
        '#include "codec/kafka/uuid.h"',
        '#include "codec/kafka/version_range.h"',
    ]
    lines += ['#include "lakestream/bytes.h"', '#include "lakestream/result.h"', ""]
    lines += [
        "namespace lakestream::codec {",
        "class Reader;",
        "class Writer;",
        "}  // namespace lakestream::codec",
        "",
    ]
    lines += [f"namespace {NAMESPACE} {{"]
    for message in messages:
        lines += [""] + declare_message(message)
    lines += ["", f"}}  // namespace {NAMESPACE}"]
    return lines


# definitions


def guarded(test, body, otherwise=()):
    """The body under an if, unless the test is empty."""
    if not test:
        return body
    if not body:
        return []
    lines = [f"if ({test}) {{"] + ["    " + line for line in body]
    if otherwise:
        lines += ["} else {"] + ["    " + line for line in otherwise]
    return lines + ["}"]


def merged(steps):
    """(test, body, otherwise) steps as statements; neighbours under the same test share one if."""
    lines = []
    for test, group in itertools.groupby(steps, key=lambda step: step[0]):
        group = list(group)
        lines += guarded(
            test, sum((step[1] for step in group), []), sum((step[2] for step in group), [])
        )
    return lines


def null_test(field, where, io):
    """C++ test that null is allowed where the field is."""
    return condition(field.nullable, where, f"{io}.version") or "true"


def read_one(field, target):
    """The statement that reads one value that is not an array and not null."""
    if field.struct:
        return f"read(in, {target});"
    if field.type in FIXED:
        return f"{target} = {FIXED[field.type][2]};"
    return f"{target} = in.{SIZED[field.type][1]}();"


def classic(field, io, lines):
    """The lines, in the form without compact lengths if the field keeps to that."""
    return (
        [f"{io}.classic([&] {{"] + ["    " + line for line in lines] + ["});"]
        if field.classic
        else lines
    )


def read_field(message, field):
    target = f"to.{field.name}"
    null = null_test(field, field.versions, "in")
    if field.array:
        least = message.element_bytes_min(field)
        one = read_one(field, "element")
        if field.optional:
            lines = [
                f"if (const auto count = in.nullable_count({least}, {null})) {{",
                f"    {target}.emplace(*count);",
            ]
            lines += [f"    for (auto& element : *{target}) {{", f"        {one}", "    }"]
            return lines + ["} else {", f"    {target}.reset();", "}"]
        return [
            f"{target}.resize(in.count({least}));",
            f"for (auto& element : {target}) {{",
            f"    {one}",
            "}",
        ]
    if not field.optional:
        lines = [read_one(field, target)]
    elif field.struct:
        lines = [
            f"if (in.present({null})) {{",
            f"    read(in, {target}.emplace());",
            "} else {",
            f"    {target}.reset();",
            "}",
        ]
    else:
        lines = [f"{target} = in.nullable_{SIZED[field.type][1]}({null});"]
    return classic(field, "in", lines)


def read_tags(message, struct):
    """The end of a struct in flexible versions."""
    tagged = sorted((field for field in struct.fields if field.tagged), key=lambda field: field.tag)
    if not tagged:
        return ["in.skip_tags();"]
    lines = ["in.tags([&](std::uint32_t tag) {", "    switch (tag) {"]
    for field in tagged:
        lines.append(f"        case {field.tag}:")
        unknown = outside(field.tagged, clip(struct.versions, message.flexible), "in.version")
        body = guarded(unknown, ["return false;"] if unknown else []) + read_field(message, field)
        lines += ["            " + line for line in body]
        lines.append("            return true;")
    return lines + ["        default: return false;", "    }", "});"]


def define_read(message, struct):
    steps = []
    for field in struct.fields:
        if not field.tagged:
            steps.append(
                (
                    condition(field.versions, struct.versions, "in.version"),
                    read_field(message, field),
                    [],
                )
            )
    body = merged(steps)
    if clip(message.flexible, struct.versions):
        body += guarded("in.flexible", read_tags(message, struct))
    return (
        [f"void read(MessageReader& in, {message.cpp_name(struct)}& to) {{"]
        + ["    " + line for line in body]
        + ["}"]
    )


def write_one(field, value, io):
    if field.struct:
        return f"write({io}, {value});"
    if field.type in FIXED:
        return FIXED[field.type][3].format(io=io, value=value) + ";"
    return f"{io}.{SIZED[field.type][1]}({value});"


def write_field(field, io):
    value = f"from.{field.name}"
    null = f'{null_test(field, field.versions, io)}, "{field.label}"'
    if field.array:
        element = write_one(field, "element", io)
        if field.optional:
            lines = [
                f"if ({io}.nullable_count({value}, {null})) {{",
                f"    for (const auto& element : *{value}) {{",
            ]
            return lines + [f"        {element}", "    }", "}"]
        return [
            f"{io}.count({value}.size());",
            f"for (const auto& element : {value}) {{",
            f"    {element}",
            "}",
        ]
    if not field.optional:
        lines = [write_one(field, value, io)]
    elif field.struct:
        lines = [
            f"if ({io}.present({value}.has_value(), {null})) {{",
            f"    write({io}, *{value});",
            "}",
        ]
    else:
        lines = [f"{io}.nullable_{SIZED[field.type][1]}({value}, {null});"]
    return classic(field, io, lines)


def no_place(field):
    """What to do with a field the version has no place for."""
    if field.ignorable:
        return []
    return guarded(field.differs(f"from.{field.name}"), [f'out.no_place("{field.label}");'])


def write_tags(message, struct):
    tagged = sorted((field for field in struct.fields if field.tagged), key=lambda field: field.tag)
    if not tagged:
        return ["out.no_tags();"]
    lines = []
    for field in tagged:
        known = condition(field.tagged, clip(struct.versions, message.flexible), "out.version")
        test = " && ".join(filter(None, [known, field.differs(f"from.{field.name}")]))
        lines.append(f"const bool has_{field.name} = {test};")
    lines.append(f"out.tag_count({{{', '.join(f'has_{field.name}' for field in tagged)}}});")
    for field in tagged:
        body = [f"out.tag({field.tag}, [&](MessageWriter& value) {{"]
        body += ["    " + line for line in write_field(field, "value")] + ["});"]
        lines += guarded(f"has_{field.name}", body)
    return lines


def define_write(message, struct):
    steps = []
    for field in struct.fields:
        if not field.tagged:
            test = condition(field.versions, struct.versions, "out.version")
            steps.append((test, write_field(field, "out"), no_place(field) if test else []))
        else:
            test = outside(field.tagged, struct.versions, "out.version")
            steps.append((test, no_place(field) if test else [], []))
    body = merged(steps)
    if clip(message.flexible, struct.versions):
        body += guarded("out.flexible", write_tags(message, struct))
    return (
        [f"void write(MessageWriter& out, const {message.cpp_name(struct)}& from) {{"]
        + ["    " + line for line in body]
        + ["}"]
    )


def define_message(message):
    name, flexible = message.name, message.is_flexible()
    lines = ["namespace {"]
    for struct in message.structs:
        lines += [""] + define_read(message, struct) + [""] + define_write(message, struct)
    lines += ["", "}  // namespace", ""]
    lines += [
        f"lakestream::Result<{name}> {name}::decode(Reader& reader, int version) {{",
        "    if (!versions.contains(version)) {",
        "        return unsupported_version(message_name, version, versions);",
        "    }",
        f"    MessageReader in{{.cursor = reader, .version = version, .flexible = {flexible}}};",
        f"    {message.name} message;",
        "    read(in, message);",
        "    if (!reader.ok()) {",
        "        return malformed(reader, message_name, version);",
        "    }",
        "    return message;",
        "}",
        "",
        f"lakestream::Status {message.name}::encode(Writer& writer, int version) const {{",
        "    if (!versions.contains(version)) {",
        "        return unsupported_version(message_name, version, versions);",
        "    }",
        f"    MessageWriter out{{.cursor = writer, .version = version, .flexible = {flexible}}};",
        "    write(out, *this);",
        "    return std::move(out.status);",
        "}",
    ]
    return lines


def source_file(what, stem, messages):
    lines = [
        BANNER.format(what=what) + f'#include "codec/kafka/gen/{stem}.h"',
        "",
        '#include "codec/kafka/message_io.h"',
        "",
    ]
    lines += [f"namespace {NAMESPACE} {{"]
    for message in messages:
        lines += [""] + define_message(message)
    return lines + ["", f"}}  // namespace {NAMESPACE}"]


# field tables


def fields_file(what, stem, messages):
    lines = [BANNER.format(what=what) + "#pragma once", "", '#include "codec/kafka/fields.h"']
    lines += [f'#include "codec/kafka/gen/{stem}.h"', "", f"namespace {NAMESPACE} {{"]
    for message in messages:
        for struct in message.structs:
            name = message.cpp_name(struct)
            lines += [
                "",
                "template <>",
                f"struct FieldsOf<{name}> {{",
                "    template <class Visitor>",
            ]
            lines += ["    static void visit(Visitor&& visitor) {"]
            for field in struct.fields:
                info = f'.name = "{field.json_name()}", .versions = {range_literal(field.versions)}'
                info += f", .nullable = {range_literal(field.nullable)}"
                info += f", .tagged = {range_literal(field.tagged)}"
                info += f", .ignorable = {'true' if field.ignorable else 'false'}"
                lines.append(f"        visitor(FieldInfo{{{info}}}, &{name}::{field.name});")
            lines += ["    }", "};"]
    return lines + ["", f"}}  // namespace {NAMESPACE}"]


def all_messages_file(stems, messages):
    lines = [
        BANNER.format(what="Every generated message with its field table.") + "#pragma once",
        "",
    ]
    lines += [f'#include "codec/kafka/gen/{stem}_fields.h"' for stem in stems]
    lines += [
        "",
        f"namespace {NAMESPACE} {{",
        "",
        "template <class... Messages>",
        "struct MessageList {};",
        "",
    ]
    names = ",\n    ".join(message.name for message in messages)
    lines += [f"using AllMessages = MessageList<\n    {names}>;"]
    return lines + ["", f"}}  // namespace {NAMESPACE}"]


# driver


def write_file(path, lines):
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocol", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("apis", nargs="+")
    arguments = parser.parse_args()

    raw = json.loads((arguments.protocol / "schemas.json").read_text())["messages"]
    by_name = {message["name"]: message for message in raw}
    requests = sorted(
        (m for m in raw if m["kind"] == "request"), key=lambda message: message["key"]
    )
    api_names = {
        snake(request["name"].removesuffix("Request")): request["name"].removesuffix("Request")
        for request in requests
    }
    units = {
        "headers": ("Kafka's request and response headers.", ["RequestHeader", "ResponseHeader"])
    }
    for api in arguments.apis:
        if api not in api_names:
            raise SystemExit(f"{api}: not one of Kafka's APIs: {' '.join(api_names)}")
        name = api_names[api]
        units[api] = (
            f"Kafka's {name} request and response.",
            [f"{name}Request", f"{name}Response"],
        )

    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    messages = []
    for stem, (what, names) in units.items():
        parsed = [Message(by_name[name]) for name in names]
        messages += parsed
        write_file(out / f"{stem}.h", header_file(what, parsed))
        write_file(out / f"{stem}.cc", source_file(what, stem, parsed))
        write_file(out / f"{stem}_fields.h", fields_file(what, stem, parsed))
    write_file(out / "all_messages.h", all_messages_file(units, messages))
    tables = {
        "errors": errors_files(json.loads((arguments.protocol / "errors.json").read_text())),
        "api_keys": api_keys_files(requests),
    }
    for stem, (header, source) in tables.items():
        write_file(out / f"{stem}.h", header)
        write_file(out / f"{stem}.cc", source)


if __name__ == "__main__":
    main()
