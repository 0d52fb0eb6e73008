#!/bin/sh
# Checks the models of the ledger (engine/ledger/model/README.md): every configuration of each must be
# searched to its end without an error and every named situation met; every fault must be found.
#
#	scripts/model.sh            all
#	scripts/model.sh append     one model
#
# What a model is to be run with is said in its first comment: lines "configuration: FLAGS" and
# "fault: NAME FLAGS". The trail of an error is left in .build/model/<model>/<number>; see the README.
set -eu
cd "$(dirname "$0")/.."
models=engine/ledger/model
out=.build/model

if ! command -v spin >/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		apt-get install -y --no-install-recommends spin >/dev/null 2>&1 ||
			{ apt-get update && apt-get install -y --no-install-recommends spin; } >/dev/null 2>&1 || true
	fi
	command -v spin >/dev/null || { echo "make model needs spin (Debian: apt-get install spin)" >&2; exit 1; }
fi

# one FOLDER: generate, compile and run the checker there; flags are in FOLDER/flags. The verdict goes to FOLDER/verdict.
if [ "${1:-}" = one ]; then
	cd "$2"
	defines=$(sed 's/[^ ][^ ]*/-D&/g' flags)
	# shellcheck disable=SC2086
	spin $defines -a model.pml >spin.out 2>&1 && gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c >gcc.out 2>&1 ||
		{ echo "does not compile: see $2" >verdict; exit 0; }
	./pan -m1000000 -w22 >pan.out 2>&1 || true
	sed -n 's/^situation: //p' pan.out | sort -u >situations
	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.out)
	complete=yes
	grep -Eq 'Search not completed|max search depth too small|out of memory|aborting' pan.out && complete=no
	case ${errors:-none}$complete in
	0yes) echo clean ;;
	[1-9]*) echo "found: $(sed -n 's/^broken: //p' pan.out | head -n 1 | grep . || sed -n 's/^pan:1: //p' pan.out)" ;;
	*) echo "the search did not end: see $2" ;;
	esac >verdict
	exit 0
fi

rm -rf "$out"
for model in ${1:-$(basename -s .pml $models/*.pml)}; do
	mkdir -p "$out/$model"
	sed -n '/\*\//q; s/^ *\(configuration\|fault\): */\1 /p' "$models/$model.pml" >"$out/$model/list"
	n=0
	while read -r kind flags; do
		n=$((n + 1))
		mkdir "$out/$model/$n"
		cp "$models/$model.pml" "$out/$model/$n/model.pml"
		cp "$models/situation.h" "$out/$model/$n/"
		echo "$kind" >"$out/$model/$n/kind"
		echo "$flags" >"$out/$model/$n/flags"
	done <"$out/$model/list"
	[ "$n" -gt 0 ] || { echo "$models/$model.pml names no configuration" >&2; exit 1; }
done

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
for folder in "$out"/*/[0-9]*; do echo "$folder"; done | sort -t/ -k3,3 -k4,4n | xargs -P "$jobs" -n 1 "$0" one

failed=0
printf '%-9s %-62s %10s %8s  %s\n' model 'configuration or fault' states seconds verdict
for model in "$out"/*/; do
	for folder in $(ls -d "$model"[0-9]* | sort -t/ -k4,4n); do
		kind=$(cat "$folder/kind") verdict=$(cat "$folder/verdict")
		case $kind:$verdict in
		configuration:clean | fault:found:*) ;;
		*) failed=1 verdict="WRONG: $verdict" ;;
		esac
		states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$folder/pan.out" 2>/dev/null || true)
		seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds/\1/p' "$folder/pan.out" 2>/dev/null || true)
		printf '%-9s %-62s %10s %8s  %s\n' "$(basename "$model")" "$(cat "$folder/flags")" "${states:-?}" "${seconds:-?}" "$verdict"
	done
	grep -o 'SITUATION("[^"]*")' "$model/1/model.pml" | sed 's/SITUATION("//; s/")//' | sort -u >"$model/wanted" || true
	for folder in "$model"[0-9]*; do
		[ "$(cat "$folder/kind")" = fault ] || cat "$folder/situations" 2>/dev/null || true
	done | sort -u >"$model/met"
	missing=$(comm -23 "$model/wanted" "$model/met")
	if [ -n "$missing" ]; then
		failed=1
		echo "$missing" | sed "s|^|WRONG: $(basename "$model") never met: |"
	fi
done
[ $failed = 0 ] || { echo "make model failed" >&2; exit 1; }
