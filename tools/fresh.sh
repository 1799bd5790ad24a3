#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves the README: clones HEAD, empties the home, and runs the README's commands line by line.
#
#   tools/fresh.sh            everything
#   tools/fresh.sh --quick    without `make test`; with the ccache and the Arrow SDK of this tree
#
# A block of the README is run when a comment precedes it:
#   <!-- fresh: run -->           each line must succeed
#   <!-- fresh: until WORD -->    each line is repeated until it prints WORD, for 15 seconds
#   <!-- fresh: serve PORT -->    the line runs in the background until the end; PORT must open
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/.." && pwd)
began=$(date +%s)
until_max=15

quick=false
case "${1:-}" in
    "") ;;
    --quick) quick=true ;;
    *)
        echo "unknown argument '$1' (--quick, or nothing)" >&2
        exit 2
        ;;
esac

work=$(mktemp -d /tmp/lakestream-fresh.XXXXXX)
servers=()
cleanup() {
    local server
    for server in "${servers[@]}"; do
        kill -TERM -- "-$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    cd /
    rm -rf "$work"
}
trap cleanup EXIT

say() { printf '== fresh %5d s: %s\n' "$(($(date +%s) - began))" "$*"; }

say "clone of $(git -C "$source_tree" rev-parse --short HEAD) in $work"
git clone --quiet "file://$source_tree" "$work/clone"
mkdir "$work/home"
compiled=$(ccache --get-config cache_dir 2>/dev/null || true)
export HOME=$work/home
unset CCACHE_DIR XDG_CACHE_HOME XDG_CONFIG_HOME
cd "$work/clone"
if $quick; then
    export CCACHE_DIR=$compiled
    if [[ -d $source_tree/build/arrow-sdk ]]; then
        mkdir build
        cp -r "$source_tree/build/arrow-sdk" build/
    fi
fi

# Prints "run COMMAND", "until WORD COMMAND" or "serve PORT COMMAND" for each marked line.
marked_commands() {
    awk '
        /^<!-- fresh: / { how = $3 == "run" ? "run" : $3 " " $4; next }
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

serve() {
    local port=$1 command=$2
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        say "FAILED: port $port is taken before the server starts"
        exit 1
    fi
    setsid bash -c "$command" </dev/null &
    servers+=($!)
    wait_for_port "$port" $!
}

repeat_until() {
    local word=$1 command=$2 output deadline=$((SECONDS + until_max))
    until output=$(bash -o pipefail -c "$command" </dev/null 2>&1) && [[ $output == *"$word"* ]]; do
        if ((SECONDS >= deadline)); then
            say "FAILED: no '$word' within $until_max s: $output"
            exit 1
        fi
        sleep 0.5
    done
    echo "$output"
}

count=0
while read -r how rest <&4; do
    if $quick && [[ $rest == "make test" ]]; then
        continue
    fi
    count=$((count + 1))
    case "$how" in
        serve)
            say "\$ ${rest#* } &"
            serve "${rest%% *}" "${rest#* }"
            ;;
        until)
            say "\$ ${rest#* }"
            repeat_until "${rest%% *}" "${rest#* }"
            ;;
        run)
            say "\$ $rest"
            bash -o pipefail -c "$rest" </dev/null || {
                say "FAILED: $rest"
                exit 1
            }
            ;;
        *)
            say "FAILED: the README has an unknown mark 'fresh: $how'"
            exit 1
            ;;
    esac
done 4< <(marked_commands)

((count > 0)) || {
    say "FAILED: the README has no marked block"
    exit 1
}
say "$count commands did what the README says"
