#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats all C++ in place; with --check, changes nothing and fails where it would.
set -euo pipefail
cd "$(dirname "$0")/.."

how=(-i)
if [[ ${1:-} == --check ]]; then
    how=(--dry-run -Werror)
fi

mapfile -d '' -t listed < <(git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h')
files=()
for file in "${listed[@]}"; do
    [[ ! -e $file ]] || files+=("$file")
done
exec clang-format-19 "${how[@]}" "${files[@]}"
