#!/bin/sh
# Compares the instructions of hot operations with the committed figures.
#
#   guard.sh [--update] PROGRAM EXPECTED BUILD
#
# PROGRAM   runnel-guard
# EXPECTED  the file with the figures: lines of BUILD OPERATION INSTRUCTIONS
# BUILD     compiler, build type and processor: other builds have other counts
#
# Counts do not drift with the machine as times do, so a few instructions more
# are seen. Exit status: 0; 1 when a count left its limits; 77 (skipped) without
# valgrind or without figures for this build.

set -eu

tolerance=3  # percent, but never less than one instruction

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -ne 3 ]; then
    echo "usage: guard.sh [--update] PROGRAM EXPECTED BUILD" >&2
    exit 2
fi
program=$1 expected=$2 build=$3

if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 77
fi
if [ $update = no ] && ! grep -q "^$build " "$expected"; then
    echo "skipped: $expected has no figures for $build; add them with"
    echo "    cmake --build BUILD_FOLDER --target guard-update"
    exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Instructions of $2 runs of operation $1 on the calling thread, all told.
# One worker that does not spin: what it does is not counted, and it takes
# nothing away from the caller.
count() {
    if ! RUNNEL_THREADS=1 RUNNEL_SPIN_US=0 valgrind --tool=callgrind \
        --toggle-collect=guard_run --callgrind-out-file="$folder/out" \
        "$program" "$1" "$2" >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        exit 1
    fi
    sed -n 's/^totals: //p' "$folder/out"
}

# Instructions of one run: the difference of two lengths leaves out whatever
# happens only once.
measure() {
    few=$(count "$1" 200)
    many=$(count "$1" 1200)
    awk -v few="$few" -v many="$many" \
        'BEGIN { printf "%.1f", (many - few) / 1000 }'
}

status=0
[ $update = no ] || grep -v "^$build " "$expected" >"$folder/new" || true
for operation in event-query event-record launch-synchronize; do
    now=$(measure "$operation")
    if [ $update = yes ]; then
        echo "$build $operation $now" >>"$folder/new"
        echo "$operation: $now instructions"
        continue
    fi
    before=$(awk -v build="$build" -v operation="$operation" \
        '$1 == build && $2 == operation { print $3 }' "$expected")
    verdict=$(awk -v now="$now" -v before="${before:-0}" -v part=$tolerance '
        BEGIN {
            room = before * part / 100
            if (room < 1) room = 1
            print (now > before + room) ? "MORE" : \
                  (now < before - room) ? "LESS" : "ok"
        }')
    echo "$operation: $now instructions, expected ${before:-none}: $verdict"
    [ "$verdict" = ok ] || status=1
done

if [ $update = yes ]; then
    cat "$folder/new" >"$expected"
elif [ $status -ne 0 ]; then
    echo "Where the change is meant, or an improvement, commit new figures:"
    echo "    cmake --build BUILD_FOLDER --target guard-update"
fi
exit $status
