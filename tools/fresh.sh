#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves the README: clones HEAD, empties the home, and runs the README's commands line by line.
#
# A block of the README is run when a comment precedes it:
#   <!-- fresh: run -->           each line must succeed
#   <!-- fresh: serve PORT -->    the line runs in the background until the end; PORT must open
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/.." && pwd)
began=$(date +%s)

work=$(mktemp -d /tmp/lakestream-fresh.XXXXXX)
servers=()
cleanup() {
    local server
    for server in "${servers[@]}"; do
        kill -TERM -- "-$server" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

say() { printf '== fresh %5d s: %s\n' "$(($(date +%s) - began))" "$*"; }

say "clone of $(git -C "$source_tree" rev-parse --short HEAD) in $work"
git clone --quiet "file://$source_tree" "$work/clone"
mkdir "$work/home"
export HOME=$work/home
unset CCACHE_DIR XDG_CACHE_HOME XDG_CONFIG_HOME
cd "$work/clone"

# Prints "run COMMAND" or "serve PORT COMMAND" for each line of a marked block.
marked_commands() {
    awk '
        /^<!-- fresh: / { how = $3 == "serve" ? "serve " $4 : "run"; next }
        /^```sh/ && how { inside = 1; next }
        /^```/ { inside = 0; how = "" }
        inside && NF { print how " " $0 }
    ' README.md
}

wait_for_port() {
    local port=$1 server=$2
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "$server" 2>/dev/null || {
            say "FAILED: the server ended before port $port opened"
            exit 1
        }
        sleep 0.5
    done
    say "port $port is open"
}

count=0
while read -r how rest <&4; do
    count=$((count + 1))
    if [[ $how == serve ]]; then
        port=${rest%% *}
        command=${rest#* }
        say "\$ $command &"
        setsid bash -c "$command" </dev/null &
        servers+=($!)
        wait_for_port "$port" $!
    else
        say "\$ $rest"
        bash -o pipefail -c "$rest" </dev/null || {
            say "FAILED: $rest"
            exit 1
        }
    fi
done 4< <(marked_commands)

((count > 0)) || {
    say "FAILED: the README has no marked block"
    exit 1
}
say "$count commands did what the README says"
