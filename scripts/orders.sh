#!/usr/bin/env bash
# Runs both days of configs/orders and shows what they have come to.
set -euo pipefail
cd "$(dirname "$0")/.."

FIXEDWIDTH_SHA256=$(sha256sum configs/fixedwidth/fixedwidth.wasm | cut -c1-64)
export FIXEDWIDTH_SHA256

say() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# A second call finds the batches finished, and replaces them.
for day in 2026-01-05 2026-01-06; do
	say bin/ubunye run -c configs/orders/pipeline.yaml --dt $day --rerun
done
say bin/ubunye show -c configs/orders/pipeline.yaml --dt 2026-01-05 --task clean_orders
for file in configs/orders/lake/report/*.txt; do say cat "$file"; done
