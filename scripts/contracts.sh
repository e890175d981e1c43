#!/usr/bin/env bash
# Compiles the devnet's contracts (devnet/chain/contracts/*.sol) to the ABI and code beside them. With --check it changes nothing and fails if what is there
# is not what the sources give. The compiler, in the version of the lock file, comes from the registry that npm is configured with.
set -euo pipefail
cd "$(dirname "$0")/../devnet/chain/contracts"

for program in node npm; do
	if ! command -v "$program" >/dev/null; then
		echo "missing: $program. Install Node.js 20 or newer with npm, for example: sudo apt-get install nodejs npm" >&2
		exit 1
	fi
done
(cd compile && npm ci --no-audit --no-fund --loglevel=error)
if [[ ${1:-} != --check ]]; then
	node compile/compile.js
	exit
fi
target=$(mktemp -d)
trap 'rm -rf "$target"' EXIT
node compile/compile.js "$target"
for compiled in "$target"/*.json; do
	cmp "$compiled" "$(basename "$compiled")" || {
		echo "devnet/chain/contracts/$(basename "$compiled") is not what its source gives: run scripts/contracts.sh" >&2
		exit 1
	}
done
