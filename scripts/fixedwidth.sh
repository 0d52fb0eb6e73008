#!/usr/bin/env bash
# Runs the pipeline of configs/fixedwidth, whose plugin is compiled in this checkout and not built in.
set -euo pipefail
cd "$(dirname "$0")/.."

FIXEDWIDTH_SHA256=$(sha256sum configs/fixedwidth/fixedwidth.wasm | cut -c1-64)
export FIXEDWIDTH_SHA256

say() {
	printf '\n$ %s\n' "$*"
	"$@"
}

say bin/ubunye plugin inspect configs/fixedwidth/fixedwidth.wasm
# A second call finds the batch finished, and replaces it.
say bin/ubunye run -c configs/fixedwidth/pipeline.yaml --dt 2012-01 --rerun
for file in configs/fixedwidth/lake/weather/*.txt; do say head -n 5 "$file"; done
