#!/usr/bin/env bash
# Runs the JavaScript clients that searchers use against the bundle RPC and the stream, and a JavaScript program on the test vectors. Their packages, in the versions of the lock files, come from the
# registry that npm is configured with.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
if ((${#missing[@]})); then
	echo "missing: ${missing[*]}. Install Node.js 20 or newer with npm, for example: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi
major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
if ((major < 20)); then
	echo "node $(node --version) is too old: install Node.js 20 or newer" >&2
	exit 1
fi

for lock in rpc/app/testdata/clients/*/package-lock.json stream/api/testdata/client/package-lock.json conformance/vectors/testdata/client/package-lock.json; do
	(cd "$(dirname "$lock")" && npm ci --no-audit --no-fund --loglevel=error)
done
go test -tags clients -count=1 -timeout 5m -run Clients ./rpc/app ./stream/api ./stream/app ./conformance/vectors
