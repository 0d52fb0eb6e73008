#!/usr/bin/env bash
# Runs the pipeline of configs/plugins/NAME, whose plugin is compiled in this checkout and not built in.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
folder=configs/plugins/$name
sha256=$(sha256sum "$folder/$name.wasm" | cut -c1-64)
export "${name^^}_SHA256=$sha256"

say() {
	printf '\n$ %s\n' "$*"
	"$@"
}

say bin/ubunye plugin inspect "$folder/$name.wasm"
# A second call finds the batch finished, and does it again.
case $name in
excel)
	say bin/ubunye run -c "$folder/pipeline.yaml" --var year=2012 --rerun
	say ls -l "$folder/lake/weather"
	;;
statement)
	say bin/ubunye run -c "$folder/pipeline.yaml" --var month=2026-01 --rerun
	for file in "$folder"/lake/statements/*.txt; do say cat "$file"; done
	;;
httpjson)
	export WEATHER_TOKEN=example
	go build -o .build/host "./$folder/host"
	exec 3>&1
	coproc host { exec .build/host >&3 2>&1; }
	listening=${host[1]} pid=$host_PID
	until (exec 4<>/dev/tcp/localhost/8765) 2>/dev/null; do kill -0 "$pid"; done
	say bin/ubunye run -c "$folder/pipeline.yaml" --dt 2012-01 --rerun
	exec {listening}>&- # the host ends
	wait "$pid"
	;;
esac
