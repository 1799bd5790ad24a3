// SPDX-License-Identifier: Apache-2.0
// Scripts that complete words in bash, zsh and fish, made from the tree of commands.
//
// All three know the same table: for each path of words, what may come next.
#include "base/assert.h"
#include "base/format.h"
#include "cli/main/command_line.h"

namespace lakestream::cli {

namespace {

/// A path of words and the command it leads to.
struct Place {
    std::string path;  // "lakestream topic"
    const CLI::App* app;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
    places.push_back({.path = path, .app = &app});
    for (const CLI::App* command : shown_commands(app)) {
        for (std::string name : command->get_aliases()) {
            collect(*command, path + " " + name, places);
        }
        collect(*command, path + " " + command->get_name(), places);
    }
}

std::vector<Place> places_of(const CLI::App& root) {
    std::vector<Place> places;
    collect(root, root.get_name(), places);
    return places;
}

/// What may stand behind a path, separated by spaces: commands, then flags.
std::string words_after(const CLI::App& app) {
    std::string words;
    const auto add = [&words](const std::string& word) {
        words += (words.empty() ? "" : " ") + word;
    };
    for (const CLI::App* command : shown_commands(app)) {
        add(command->get_name());
    }
    for (const CLI::Option* flag : flags_of(app)) {
        add(flag->get_name());
    }
    return words;
}

/// One sentence in single quotes.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
    }
    return out + "'";
}

constexpr std::string_view bash_text =
    R"bash(# Completion of lakestream for bash: lakestream completion bash
_lakestream_words() {{
    case "$1" in
{}    esac
}}

_lakestream() {{
    local path=lakestream word i current="${{COMP_WORDS[COMP_CWORD]}}"
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word="${{COMP_WORDS[i]}}"
        [[ -n "$(_lakestream_words "$path $word")" ]] && path="$path $word"
    done
    case "${{COMP_WORDS[COMP_CWORD - 1]}}" in
        --format) COMPREPLY=($(compgen -W 'text json' -- "$current")); return ;;
        --compression)
            COMPREPLY=($(compgen -W 'none gzip snappy lz4 zstd' -- "$current")); return ;;
        --data-dir) COMPREPLY=($(compgen -d -- "$current")); return ;;
    esac
    COMPREPLY=($(compgen -W "$(_lakestream_words "$path")" -- "$current"))
    ((${{#COMPREPLY[@]}})) || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _lakestream lakestream
)bash";

/// bash and zsh: walk the words while they lead somewhere, then offer what may follow.
std::string bash_script(const CLI::App& root) {
    std::string cases;
    for (const Place& place : places_of(root)) {
        cases += fmt::format(
            "        {}) echo {} ;;\n", quoted(place.path), quoted(words_after(*place.app))
        );
    }
    return fmt::format(bash_text, cases);
}

std::string zsh_script(const CLI::App& root) {
    return fmt::format(
        "#compdef lakestream\n"
        "# Completion of lakestream for zsh: lakestream completion zsh\n"
        "autoload -U +X bashcompinit && bashcompinit\n"
        "{}",
        bash_script(root)
    );
}

std::string fish_script(const CLI::App& root) {
    std::string script =
        "# Completion of lakestream for fish: lakestream completion fish\n"
        "function __lakestream_at\n"
        "    test (string join ' ' (commandline -opc | string match -v -- '-*'))"
        " = \"$argv\"\n"
        "end\n"
        "function __lakestream_in\n"
        "    string match -q -- \"$argv*\""
        " (string join ' ' (commandline -opc | string match -v -- '-*'))\n"
        "end\n"
        "complete -c lakestream -f\n";
    for (const Place& place : places_of(root)) {
        for (const CLI::App* command : shown_commands(*place.app)) {
            script += fmt::format(
                "complete -c lakestream -n {} -a {} -d {}\n",
                quoted("__lakestream_at " + place.path),
                command->get_name(),
                quoted(command->get_description())
            );
        }
        if (!shown_commands(*place.app).empty()) {
            continue;
        }
        for (const CLI::Option* flag : flags_of(*place.app)) {
            script += fmt::format(
                "complete -c lakestream -n {} -l {}{} -d {}\n",
                quoted("__lakestream_in " + place.path),
                flag->get_name().substr(2),
                flag->get_items_expected_max() == 0 ? "" : " -r",
                quoted(flag->get_description())
            );
        }
    }
    return script;
}

}  // namespace

std::string completion_script(const CLI::App& root, const std::string& shell) {
    LKS_ASSERT(shell == "bash" || shell == "zsh" || shell == "fish");
    return shell == "bash"  ? bash_script(root)
           : shell == "zsh" ? zsh_script(root)
                            : fish_script(root);
}

}  // namespace lakestream::cli
