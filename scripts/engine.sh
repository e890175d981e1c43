#!/usr/bin/env bash
# Makes a container engine available where there is none, but root and Debian's packages are: installs it, and starts one that is nobody else's, with a
# folder and a socket of its own. Where an engine answers already, nothing is installed or started.
#
#   eval "$(scripts/engine.sh start)"           # for the commands that follow
#   scripts/engine.sh stop                      # ends it, and removes its images and containers
#   scripts/engine.sh with make conformance-image
#
# If none can be had, start fails; with says so and runs its command all the same.
set -euo pipefail

dir=${GAVEL_ENGINE_DIR:-/var/tmp/gavel-engine}
socket=unix://$dir/docker.sock
log=$dir/log

fail() {
	echo "engine: $*" >&2
	exit 1
}

# needs installs the engine if it is not there.
needs() {
	[[ $(id -u) -eq 0 ]] || fail "no container engine answers, and only root can start one: install Docker"
	command -v dockerd >/dev/null && command -v docker >/dev/null && return
	command -v apt-get >/dev/null || fail "no container engine answers: install Docker"
	echo "engine: installing docker.io" >&2
	# At this run level packages start no services.
	{ apt-get update -qq && RUNLEVEL=1 apt-get install -qq -y --no-install-recommends docker.io iptables; } >/dev/null ||
		fail "docker.io cannot be installed"
}

start() {
	docker version >/dev/null 2>&1 && return # the user's own
	if ! DOCKER_HOST=$socket docker version >/dev/null 2>&1; then
		needs
		mkdir -p "$dir"
		setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/pid" --host "$socket" </dev/null >"$log" 2>&1 &
		local pid=$!
		for _ in {1..150}; do
			DOCKER_HOST=$socket docker version >/dev/null 2>&1 && break
			kill -0 $pid 2>/dev/null || break
			sleep 0.2
		done
		DOCKER_HOST=$socket docker version >/dev/null 2>&1 || { tail -5 "$log" >&2; fail "the engine does not start; its log is $log"; }
		echo "engine: started, process $(cat "$dir/pid")" >&2
	fi
	# No image can be had for the library's own cleaner, so tests clean up after themselves; ports are published on this machine.
	echo "export DOCKER_HOST=$socket TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1"
}

# stop ends the engine that start started, and no other.
stop() {
	[[ -f $dir/pid ]] || return 0
	local pid
	pid=$(cat "$dir/pid")
	kill "$pid" 2>/dev/null || true
	for _ in {1..150}; do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	! kill -0 "$pid" 2>/dev/null || fail "process $pid does not end"
	# A container in this machine's network leaves its namespace mounted.
	local mounted
	for mounted in "$dir"/exec/netns/*; do
		mountpoint -q "$mounted" && umount "$mounted"
	done
	rm -rf "$dir"
}

case ${1:-} in
start) start ;;
stop) stop ;;
with)
	shift
	[[ ! -f $dir/pid ]] || running=yes
	if environment=$(start); then
		[[ -z $environment || -n ${running:-} ]] || trap stop EXIT
		eval "$environment"
	else
		echo "engine: going on without one" >&2
	fi
	"$@"
	;;
*)
	echo "usage: $0 start | stop | with COMMAND…" >&2
	exit 2
	;;
esac
