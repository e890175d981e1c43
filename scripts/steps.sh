#!/usr/bin/env bash
# Steps of a run, one after another or side by side, for .ci/run to source:
#
#   step test make test      # runs it, and shows what it says as it comes
#   begin prove make prove   # begins it; what it says is kept
#   finish prove             # waits for it, and shows what it said
#   said SKIPPED             # the lines of all steps so far that have the word
#
# The first step that fails ends the run with its status, also if it was begun and another one is shown. Steps that still run are ended then.

# Each step is a process group of its own, by which it is ended with all that it has started.
declare -A group=() name=() since=() kept=() status=()
folder=$(mktemp -d)
trap 'end_all' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# begin starts a step whose words are kept.
begin() {
	local step=$1
	shift
	echo "== $step: $* (its words come when it has ended)"
	kept[$step]=$folder/$step
	launch "$step" keep "$@"
}

# step runs a step whose words are shown.
step() {
	local step=$1
	shift
	echo "== $step: $*"
	launch "$step" show "$@"
	await "$step"
	ok "$step"
}

# finish waits for steps that were begun.
finish() {
	local step
	for step; do
		await "$step"
		cat "${kept[$step]}"
		ok "$step"
	done
}

# said shows lines of what steps that have ended said.
said() { sort -u "$folder"/* | grep -- "$1"; }

ok() { echo "== $1: ok after ${status[$1]#0 }s"; }

# launch starts a command in a process group of its own, below a shell that ends with its status: bash forgets a job that a signal has ended
# as soon as it has told of it, and wait could not ask for it any more.
launch() {
	local step=$1 how=$2
	shift 2
	since[$step]=$SECONDS
	set -m
	if [[ $how == show ]]; then
		(set -o pipefail; "$@" 2>&1 | tee "$folder/$step") </dev/null &
	else
		("$@"; exit $?) </dev/null >"$folder/$step" 2>&1 &
	fi
	set +m
	group[$step]=$! name[$!]=$step
}

# await waits until a step has ended well. A step that fails meanwhile ends the run.
await() {
	local ended code one
	until [[ -n ${status[$1]:-} ]]; do
		code=0
		wait -n -p ended "${group[@]}" || code=$?
		one=${name[$ended]}
		unset "group[$one]"
		status[$one]="$code $((SECONDS - since[$one]))"
		((code)) || continue
		[[ -z ${kept[$one]:-} ]] || cat "${kept[$one]}"
		echo "== $one: FAILED with status $code after ${status[$one]#* }s"
		exit "$code"
	done
}

# end_all ends what still runs, when the run ends.
end_all() {
	local step
	for step in "${!group[@]}"; do
		echo "== $step: ended unfinished"
		kill -TERM -- "-${group[$step]}" 2>/dev/null || continue
		for _ in {1..100}; do
			kill -0 -- "-${group[$step]}" 2>/dev/null || continue 2
			sleep 0.1
		done
		kill -KILL -- "-${group[$step]}" 2>/dev/null || true
	done
	rm -rf "$folder"
}
