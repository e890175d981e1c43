#!/usr/bin/env bash
# Looks for what the Makefile needs. What is missing it installs, where that is Debian and we are root, or says how to:
#
#   scripts/needs.sh build    # a C compiler (BLS and SQLite are built with cgo), git, make, and whose certificates count, for what go fetches
#   scripts/needs.sh sql      # also a C++ compiler, for DuckDB
#   scripts/needs.sh tests    # also PostgreSQL, of which the tests start a server of their own, curl, Chromium, which looks at pages, and Prometheus, whose promtool checks alerts
#   scripts/needs.sh faults   # the same, and it says so if no disk can be broken here: the tests and stories that do so are skipped then
#
# Go itself is the operator's choice; it is only checked. All that is missing is named at once.
set -euo pipefail
what=${1:-tests}

# Oldest Go that works, as in go.mod; a newer patch release is fetched by the go command itself when go.mod asks for one.
wanted=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$(dirname "$0")/../go.mod")

missing=()
command -v git >/dev/null || missing+=(git)
command -v make >/dev/null || missing+=(make)
command -v cc >/dev/null || command -v gcc >/dev/null || missing+=(gcc libc6-dev)
# Where Go looks for them: Debian, Fedora, SUSE, Alpine and the BSDs; a Mac has its own.
if [[ -z ${SSL_CERT_FILE:-} && $(uname) != Darwin ]] && ! compgen -G '/etc/ssl/certs/*' >/dev/null && ! compgen -G '/etc/pki/tls/certs/*' >/dev/null &&
	[[ ! -e /etc/ssl/ca-bundle.pem && ! -e /etc/ssl/cert.pem ]]; then
	missing+=(ca-certificates)
fi
if [[ $what == sql ]]; then
	command -v c++ >/dev/null || command -v g++ >/dev/null || missing+=(g++)
elif [[ $what != build ]]; then
	# Debian keeps the server's programs out of PATH. The tests do not use the server that its package may start.
	if ! { command -v initdb && command -v postgres; } >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
		missing+=(postgresql)
	fi
	command -v curl >/dev/null || missing+=(curl)
	command -v promtool >/dev/null || missing+=(prometheus)
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
fi

# go_is_wrong says what about Go is.
go_is_wrong() {
	local have
	if ! command -v go >/dev/null; then
		echo "missing: go $wanted or newer. Install it from https://go.dev/dl"
		return
	fi
	have=$(go env GOVERSION | sed 's/^go//')
	if [[ $(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -1) != "$wanted" ]]; then
		echo "go $have is too old: install $wanted or newer from https://go.dev/dl"
	fi
}

failed=0
if ((${#missing[@]})); then
	if command -v apt-get >/dev/null && [[ $(id -u) -eq 0 ]]; then
		echo "installing ${missing[*]}" >&2
		apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null || {
			echo "could not install ${missing[*]}: install them, and try again" >&2
			failed=1
		}
	else
		echo "missing: ${missing[*]}. Install them, for example: sudo apt-get install ${missing[*]}" >&2
		failed=1
	fi
fi
wrong=$(go_is_wrong)
if [[ -n $wrong ]]; then
	echo "$wrong" >&2
	failed=1
fi
((failed)) && exit 1

if [[ $what == faults && ! (-r /dev/fuse && -w /dev/fuse) ]]; then
	echo "SKIPPED will be what breaks a disk: /dev/fuse is not there, or not open to you. Have root do: modprobe fuse; chmod 666 /dev/fuse" >&2
fi
echo "nothing is missing ($(go env GOVERSION), $(git --version), $(make --version | head -1))"
