#!/usr/bin/env bash
# Builds an image: first the program, static and with all that it needs inside, then the image around it. The arguments are the image's name, and the
# program: gavel, or lab for gavel-lab.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-gavel:dev}
target=${2:-gavel}
program=gavel file=Dockerfile
if [[ $target == lab ]]; then
	program=gavel-lab file=Dockerfile.lab
fi

if ! docker version >/dev/null 2>&1; then
	echo "no container engine answers: install Docker, or see scripts/engine.sh" >&2
	exit 1
fi

# The BLS code chooses by the processor that it runs on, and not by the one that it was built on.
export CGO_ENABLED=1 CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -D__BLST_PORTABLE__"
mkdir -p bin/image/empty
go build -tags image,netgo,osusergo,sqlite_omit_load_extension -ldflags '-s -w -linkmode external -extldflags "-static"' -o "bin/image/$program" "./cmd/$program"

docker build --quiet --file "$file" --tag "$name" . >/dev/null
echo "$name $(docker image inspect --format '{{.Size}}' "$name" | awk '{printf "%.0f MB", $1 / 1e6}')"
