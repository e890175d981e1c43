#!/usr/bin/env bash
# Has axe-core judge the pages that people see, in Chromium. axe-core, in the version of the lock file, comes from the registry that npm is configured with.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in node npm; do
	command -v "$program" >/dev/null || {
		echo "missing: $program. Install Node.js 20 or newer with npm, for example: sudo apt-get install nodejs npm" >&2
		exit 1
	}
done

axe=internal/serve/servetest/testdata/axe
(cd "$axe" && npm ci --no-audit --no-fund --loglevel=error)
GAVEL_AXE="$PWD/$axe/node_modules/axe-core/axe.min.js" go test -tags axe -count=1 -timeout 10m -run Accessible ./devnet/timeline ./relay/api \
	./stream/api ./scenarios/figures ./conformance/report ./conformance/app
