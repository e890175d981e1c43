#!/usr/bin/env bash
# Runs a command with a temporary folder of its own, and fails if anything is left of it: folders or files there, mounts, processes, or files in this
# repository that git would see. What is left is listed, and removed; the command's own status comes first.
#
#   scripts/leftovers.sh go test -race ./...
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

TMPDIR=$(mktemp -d /tmp/gavel-test.XXXXXX) # short: the names of sockets below it have an end
chmod 1777 "$TMPDIR" # some tests start programs as another user
TMPDIR=$(cd "$TMPDIR" && pwd -P)
export TMPDIR

# state is what git would call changed in the repository; nothing without git.
state() { git -C "$root" status --porcelain --untracked-files=all 2>/dev/null; }

# children are the processes that have the folder in what they were started with, or stand in it. This shell knows it only since it runs.
children() {
	local process
	for process in /proc/[0-9]*; do
		[[ ${process#/proc/} != "$BASHPID" && ${process#/proc/} != "$$" ]] || continue
		if grep -qsF "$TMPDIR" "$process/environ" "$process/cmdline" || [[ $(readlink "$process/cwd" 2>/dev/null) == "$TMPDIR"* ]]; then
			echo "${process#/proc/}"
		fi
	done
}

# mounts are those below the folder.
mounts() { awk -v below="$TMPDIR/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts 2>/dev/null; }

before=$(state)
status=0
"$@" || status=$?

left=0
say() {
	left=1
	echo "left behind: $*" >&2
}
if [[ -d /proc/self ]]; then
	for pid in $(children); do
		say "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
		kill -KILL "$pid" 2>/dev/null
	done
	while read -r at; do
		say "mount at $at"
		umount -l "$at" 2>/dev/null
	done < <(mounts)
fi
while IFS= read -r -d '' path; do
	say "$path"
done < <(find "$TMPDIR" -mindepth 1 -maxdepth 1 -print0)
if [[ $(state) != "$before" ]]; then
	say "changes in the repository:"
	diff <(echo "$before") <(state) >&2
fi
rm -rf "$TMPDIR"
((status)) && exit "$status"
exit "$left"
