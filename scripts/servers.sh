#!/usr/bin/env bash
# Installs the servers of databases that tests start, where that can be done without asking: on Debian, as root.
set -euo pipefail
missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v mariadb-install-db >/dev/null || missing+=(mariadb-server)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # no service is started
	apt-get update -qq >/dev/null
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
elif [ "${CI:-}" = true ]; then
	echo "the tests of databases need ${missing[*]} (Debian: apt-get install ${missing[*]})" >&2
	exit 1
else
	echo "the tests of databases are skipped: there is no ${missing[*]} on this machine (Debian: apt-get install ${missing[*]})" >&2
fi
