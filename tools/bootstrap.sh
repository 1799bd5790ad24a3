#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a fresh Debian 12 needs to build and test Lakestream; quick when all is there.
#
#   tools/bootstrap.sh          compilers, libraries, test clients (apt, as root or with sudo)
#   tools/bootstrap.sh arrow    also the Arrow and Parquet libraries, into build/arrow-sdk
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    # compiler and tools
    clang-19 clang-tidy-19 clang-format-19 lld-19 libclang-rt-19-dev llvm-19
    cmake ninja-build make ccache pkg-config git
    python3 python3-venv python3-pip
    # libraries
    libfmt-dev libspdlog-dev libcli11-dev libtoml11-dev nlohmann-json3-dev
    librocksdb-dev libcurl4-openssl-dev libssl-dev libboost1.81-dev prometheus-cpp-dev
    libjemalloc-dev
    libzstd-dev liblz4-dev libsnappy-dev zlib1g-dev libxxhash-dev
    # tests
    libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev librdkafka-dev kcat curl
)

say() { echo "bootstrap: $*"; }

missing_of() {
    local installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    local package
    for package in "$@"; do
        grep -qx "$package installed" <<<"$installed" || echo "$package"
    done
}

install_packages() {
    local wanted=("${packages[@]}")
    # Any Java 11 or newer will do for the Java client's test.
    command -v java >/dev/null || wanted+=(default-jdk-headless)
    command -v mvn >/dev/null || wanted+=(maven)

    local missing
    mapfile -t missing < <(missing_of "${wanted[@]}")
    if ((${#missing[@]} == 0)); then
        say "all ${#wanted[@]} packages are installed"
        return
    fi

    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || {
            say "run me as root, or install sudo; missing: ${missing[*]}" >&2
            exit 1
        }
        as_root=(sudo)
    fi
    say "installing with apt: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    local quiet=(-qq -o Dpkg::Use-Pty=0)
    "${as_root[@]}" apt-get "${quiet[@]}" update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get "${quiet[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
    say "installed ${#missing[@]} packages"
}

# Arrow has no Debian package: its headers and libraries come from the pyarrow wheel
# (docs/adr/0006-arrow-sdk.md).
arrow_version=26.0.1
arrow_sha256=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c

install_arrow() {
    local sdk=build/arrow-sdk
    if [[ -f $sdk/lib/stamp && $(<"$sdk/lib/stamp") == "$(arrow_stamp)" ]]; then
        say "Arrow $arrow_version is in $sdk"
        return
    fi
    say "fetching the pyarrow $arrow_version wheel (55 MB) for its C++ headers and libraries"
    local wheels=build/wheels
    python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 \
        --platform manylinux_2_28_x86_64 --dest "$wheels" "pyarrow==$arrow_version"
    local wheel
    wheel=$(echo "$wheels"/pyarrow-"$arrow_version"-*.whl)
    echo "$arrow_sha256  $wheel" | sha256sum --check --quiet
    python3 tools/arrow_sdk.py "$wheel" "$sdk"
    arrow_stamp >"$sdk/lib/stamp"
}

# Changes with the wheel and with the script that unpacks it.
arrow_stamp() {
    echo "$arrow_sha256 $(sha256sum tools/arrow_sdk.py)"
}

install_packages
case "${1:-}" in
    "") ;;
    arrow) install_arrow ;;
    *)
        say "unknown argument '$1' (arrow, or nothing)" >&2
        exit 2
        ;;
esac
