#!/bin/sh
# Counts the instructions of calls that are made N times and 16 N times, of all
# threads, and compares the power of N that they follow with what is allowed.
#
#   growth.sh PROGRAM [CALL]
#
# PROGRAM  runnel-growth
#
# Exit status: 0; 1 when a call grows faster; 77 (skipped) without valgrind.

set -eu

program=$1
shift

command -v valgrind >/dev/null || {
    echo "skipped: valgrind is not installed"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# One file of counts before each run, and one behind it.
if ! RUNNEL_THREADS=1 RUNNEL_SPIN_US=0 valgrind --tool=callgrind \
    --dump-before=growth_run --dump-after=growth_run \
    --callgrind-out-file="$folder/out" "$program" "$@" >"$folder/log" 2>&1
then
    cat "$folder/log" >&2
    exit 1
fi

total() {
    sed -n 's/^totals: //p' "$folder/out.$1"
}

status=0
file=2
"$program" --list >"$folder/names"
while read -r name most; do
    [ $# -eq 0 ] || [ "$1" = "$name" ] || continue
    few=$(total $file) many=$(total $((file + 2)))
    file=$((file + 4))
    awk -v name="$name" -v most="$most" -v few="$few" -v many="$many" 'BEGIN {
        power = log(many / few) / log(16)
        wrong = (power > most)
        printf "%-28s %10d %11d  %.2f%s\n", name, few, many, power,
               wrong ? ", " most " is allowed" : ""
        exit wrong
    }' || status=1
done <"$folder/names"
exit $status
