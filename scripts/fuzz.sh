#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time, as many at a time as there are processors, each on one of them. A package's targets
# are built once. What a target finds is kept below its package's testdata/fuzz and belongs into the repository.
#
#   scripts/fuzz.sh 10s
#   scripts/fuzz.sh --list     # the targets, and nothing else
set -euo pipefail
cd "$(dirname "$0")/.."

# Modules of their own, such as tools, have none of ours.
targets() {
	grep -rHoE --include='*_test.go' --exclude-dir=tools --exclude-dir=node_modules '^func Fuzz[A-Za-z0-9_]+' . | sed 's/func //' | sort
}

# only_deadline says whether a run ended by its time alone: Go's fuzzing reports its own deadline as a failure of the target if it comes while an
# input is being tried (go.dev/issue/75804). What a target finds is a file below testdata/fuzz, and its path is in the output.
only_deadline() {
	[[ $1 == *'context deadline exceeded'* && $1 != *'testdata/fuzz/'* && $1 != *'panic:'* && $1 != *'hung or terminated'* && $1 != *'_test.go:'* ]]
}

# run is one target: its binary, its package's folder, its name, how long. Its words come together, when it has ended.
run() {
	local binary=$1 package=$2 target=$3 fuzztime=$4 out status=0
	out=$(cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$fuzztime" -test.fuzzminimizetime 200x -test.parallel 1 \
		-test.fuzzcachedir "$cache/$package" 2>&1) || status=$?
	if ((status)) && ! only_deadline "$out"; then
		printf '== %s %s FAILS\n%s\n' "$package" "$target" "$out"
		return "$status"
	fi
	# A binary that has no such target, under this machine's build tags, ends well too.
	# One with many inputs from earlier runs may still be at them when the time is over.
	if ((!status)) && ! grep -qE 'execs: |baseline coverage: [1-9]' <<<"$out"; then
		printf '== %s %s FAILS: it did not run\n%s\n' "$package" "$target" "$out"
		return 1
	fi
	printf '== %s %s for %s: %s\n' "$package" "$target" "$fuzztime" "$(grep -oE 'execs: [0-9]+|baseline coverage: [0-9]+/[0-9]+' <<<"$out" | tail -1)"
}

if [[ ${1:-} == --list ]]; then
	targets
	exit
fi
fuzztime=${1:-20s}
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
cache=$(go env GOCACHE)/fuzz/gavel
export cache
export -f run only_deadline

jobs=()
while IFS=: read -r file target; do
	package=$(dirname "$file")
	binary=$binaries/${package//\//_}
	[[ -f $binary ]] || go test -c -fuzz=. -o "$binary" "$package"
	jobs+=("$binary" "$package" "$target" "$fuzztime")
done < <(targets)

failed=0
printf '%s\0' "${jobs[@]}" | xargs -0 -n 4 -P "$(nproc)" bash -c 'run "$@"' run || failed=$?
echo "$((${#jobs[@]} / 4)) fuzz targets ran for $fuzztime each"
exit "$failed"
