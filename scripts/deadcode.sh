#!/usr/bin/env bash
# Fails if a function is reached by no program and stands not in scripts/deadcode.allow, or stands there and is reached.
#
#   scripts/deadcode.sh PROGRAM     # PROGRAM is the tool deadcode, which make lint builds
set -euo pipefail
cd "$(dirname "$0")/.."

found=$("./$1" ./cmd/... | sed -E 's/^([^:]+):[0-9]+:[0-9]+: unreachable func: /\1 /' | sort)
allowed=$(sed -E 's/ *#.*//; /^$/d' scripts/deadcode.allow | sort)
if ! difference=$(diff <(echo "$allowed") <(echo "$found")); then
	echo "functions that no program reaches (>), and lines of scripts/deadcode.allow that are not needed (<):"
	grep '^[<>]' <<<"$difference"
	exit 1
fi
