#!/bin/sh
# Compares the instructions of hot operations with the committed figures.
#
#   guard.sh [--update] PROGRAM EXPECTED BUILD
#
# PROGRAM   runnel-guard or another of run.h
# EXPECTED  the file with the figures: lines of BUILD OPERATION INSTRUCTIONS
# BUILD     compiler, build type and processor: other builds have other counts
#
# Counts do not drift with the machine as times do, so a few instructions more
# are seen. Exit status: 0; 1 when a count left its limits; 77 (skipped) without
# valgrind or without figures for this build.

set -eu

tolerance=3  # percent, but never less than one instruction
least=1
unit=instructions
# shellcheck source=bench/guard/figures.sh
. "$(dirname "$0")/figures.sh"

if [ $# -ne 3 ]; then
    echo "usage: guard.sh [--update] PROGRAM EXPECTED BUILD" >&2
    exit 2
fi
program=$1 expected=$2 build=$3

command -v valgrind >/dev/null || skip "valgrind is not installed"
figures_needed

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Sums the costs of lines that stand under a function. Left out are strlen,
# memcmp and their like in libc: what these take depends on where strings lie in
# their pages, and that on the number of environment variables and on the length
# of paths.
sum_costs='
    /^c?fn=/ {
        split($0, part, /[=() ]+/)
        id = part[2]
        if (part[3] != "")
            name[id] = part[3]
        if (/^fn=/)
            left_out = name[id] ~ /^__(str|mem)/
        next
    }
    /^calls=/ { getline; next }
    /^[0-9+*-]/ && !left_out { sum += $2 }
    END { print sum }'

# Instructions of $2 runs of operation $1 on the calling thread.
# One worker that does not spin: what it does is not counted, and it takes
# nothing away from the caller.
count() {
    if ! RUNNEL_THREADS=1 RUNNEL_SPIN_US=0 valgrind --tool=callgrind \
        --toggle-collect=guard_run --callgrind-out-file="$folder/out" \
        "$program" "$1" "$2" >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        exit 1
    fi
    awk "$sum_costs" "$folder/out"
}

# Instructions of one run: the difference of two lengths leaves out whatever
# happens only once.
measure() {
    few=$(count "$1" 200)
    many=$(count "$1" 1200)
    awk -v few="$few" -v many="$many" \
        'BEGIN { printf "%.1f", (many - few) / 1000 }'
}

# shellcheck disable=SC2046
take_figures $("$program" --list)
