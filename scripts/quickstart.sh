#!/usr/bin/env bash
# Runs the pipeline of configs/quickstart as its README says: once, again (refused), and as a rerun.
set -euo pipefail
cd "$(dirname "$0")/.."

ubunye=bin/ubunye
pipeline=configs/quickstart/pipeline.yaml

# say COMMAND… shows a command, runs it and puts its exit code into $code.
say() {
	printf '\n$ %s\n' "$*"
	code=0
	"$@" || code=$?
}

say $ubunye run -c $pipeline --dt 2012-01
# A second `make quickstart` finds the batch finished, and is told so: that is the point.
if [ $code -ne 0 ] && [ $code -ne 1 ]; then exit $code; fi

say $ubunye show -c $pipeline --dt 2012-01 --limit 8
[ $code -eq 0 ] || exit $code

printf '\n# The same batch again: refused (exit code 1), nothing read, nothing written.'
say $ubunye run -c $pipeline --dt 2012-01
[ $code -eq 1 ] || { echo "expected a refusal (exit code 1), got $code" >&2; exit 1; }

printf '\n# As a rerun: the new files first, then the old ones go.'
say $ubunye run -c $pipeline --dt 2012-01 --rerun
exit $code
