#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, each for the given time. What a target finds is kept below its package's
# testdata/fuzz and belongs into the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${1:-20s}

targets=0
while IFS=: read -r file target; do
	package=./$(dirname "$file")
	echo "== $package $target for $fuzztime"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" -fuzzminimizetime 200x
	targets=$((targets + 1))
done < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd devnet internal relay rpc | sed 's/func //' | sort)
echo "$targets fuzz targets ran for $fuzztime each"
