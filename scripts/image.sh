#!/usr/bin/env bash
# Builds the image of gavel: first the program, static and with all that it needs inside, then the image around it. The argument is the image's name.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-gavel:dev}

if ! docker version >/dev/null 2>&1; then
	echo "no container engine answers: install Docker, or see scripts/engine.sh" >&2
	exit 1
fi

# The BLS code chooses by the processor that it runs on, and not by the one that it was built on.
export CGO_ENABLED=1 CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -D__BLST_PORTABLE__"
mkdir -p bin/image/empty
go build -tags image,netgo,osusergo,sqlite_omit_load_extension -ldflags '-s -w -linkmode external -extldflags "-static"' -o bin/image/gavel ./cmd/gavel

docker build --quiet --tag "$name" . >/dev/null
echo "$name $(docker image inspect --format '{{.Size}}' "$name" | awk '{printf "%.0f MB", $1 / 1e6}')"
