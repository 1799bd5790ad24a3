#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one stage of the Makefile and says when it began: stage.sh NAME COMMAND...
printf '\n== %4d s: %s\n' "$(($(date +%s) - ${LKS_START:-$(date +%s)}))" "$1"
shift
exec "$@"
