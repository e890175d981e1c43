#!/usr/bin/env bash
# Runs the tests in which something really breaks: a process is killed or stopped, a disk is full or slow, power is cut, the journal is away, the clock
# jumps. They are those with a line of their kinds in their comment, which goes where the test goes:
#
#   //gavel:fault kill
#   func TestWhatWasAnsweredSurvivesAKill(t *testing.T) {
#
#   scripts/faults.sh          # run them
#   scripts/faults.sh --list   # package, test and kinds, and nothing else
#
# It fails if a kind has no test, if a line is above no test, and if a test that is named did not run. What this machine cannot show is listed as SKIPPED.
set -euo pipefail
cd "$(dirname "$0")/.."

# A kind that is new gets its place here.
kinds=(kill pause disk-full slow-disk power-cut journal-away clock-jump restart)

# marked lists package, test and kinds; a line that is above no test is listed as "package - kinds".
marked() {
	grep -rl --include='*_test.go' --exclude-dir=tools --exclude-dir=node_modules '^//gavel:fault ' . | sort | while IFS= read -r file; do
		awk -v package="$(dirname "$file")" '
			/^\/\/gavel:fault / { if (kinds) print package, "-", kinds; sub(/^[^ ]+ /, ""); kinds = $0; next }
			kinds && /^func Test/ { sub(/^func /, ""); sub(/\(.*/, ""); print package, $0, kinds; kinds = ""; next }
			kinds && !/^\/\// { print package, "-", kinds; kinds = "" }
			END { if (kinds) print package, "-", kinds }' "$file"
	done
}

tests=$(marked)
if [[ ${1:-} == --list ]]; then
	echo "$tests"
	exit
fi

failed=0
complain() {
	failed=1
	echo "$*" >&2
}
while read -r package test _; do
	[[ $test != - ]] || complain "$package: a line //gavel:fault is above no test"
done <<<"$tests"
for kind in "${kinds[@]}"; do
	grep -qE " $kind( |\$)" <<<"$tests" || complain "no test has the line //gavel:fault $kind"
done
while read -r kind; do
	[[ " ${kinds[*]} " == *" $kind "* ]] || complain "//gavel:fault $kind: the kinds are ${kinds[*]}"
done < <(cut -d' ' -f3- <<<"$tests" | tr ' ' '\n' | sort -u)
((failed)) && exit 1

out=$(mktemp)
trap 'rm -f "$out"' EXIT
skipped=()
while read -r package; do
	names=$(awk -v package="$package" '$1 == package { print $2 }' <<<"$tests")
	status=0
	go test -count=1 -v -run "^($(paste -sd'|' <<<"$names"))\$" "$package" >"$out" 2>&1 || status=$?
	if ((status)); then
		cat "$out"
		complain "$package: the tests of faults fail"
		continue
	fi
	for name in $names; do
		if grep -qE -- "^--- SKIP: $name( |\$)" "$out"; then
			why=$(sed -n "/^=== RUN   $name\$/,/^--- SKIP: $name/p" "$out" | sed -n 's/^ *[a-z0-9_]*_test\.go:[0-9]*: *//p' | paste -sd' ')
			skipped+=("$package $name: $why")
		elif ! grep -qE -- "^--- PASS: $name( |\$)" "$out"; then
			complain "$package: $name did not run"
		fi
	done
	tail -1 "$out"
done < <(cut -d' ' -f1 <<<"$tests" | sort -u)
echo "$(grep -c . <<<"$tests") tests of faults ran, ${#skipped[@]} of them were skipped"
for one in "${skipped[@]}"; do
	echo "SKIPPED: $one"
done
exit "$failed"
