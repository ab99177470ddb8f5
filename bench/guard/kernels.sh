#!/bin/sh
# Compares the instructions of whole kernels, as tier B compiles them, with the
# committed figures.
#
#   kernels.sh [--update] PROGRAM COMPILER KERNELS EXPECTED
#
# PROGRAM   runnel-guard-kernels
# COMPILER  runnel-cc
# KERNELS   the folder with KERNEL.cu
# EXPECTED  the file with the figures: lines of LEVEL KERNEL INSTRUCTIONS
#
# Compiled for one level of processors, kernels are the same code everywhere, so
# one figure serves all machines. Exit status: 0; 1 when a count left its
# limits; 77 (skipped) where that cannot be measured.

set -eu

tolerance=4  # percent
target=x86-64-v3  # valgrind knows no AVX-512
guarded='saxpy matmul nbody reduction shuffle_reduction histogram mandelbrot'

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -ne 4 ]; then
    echo "usage: kernels.sh [--update] PROGRAM COMPILER KERNELS EXPECTED" >&2
    exit 2
fi
program=$1 compiler=$2 kernels=$3 expected=$4

skip() {
    echo "skipped: $*"
    exit 77
}

command -v valgrind >/dev/null || skip "valgrind is not installed"
grep -qw avx2 /proc/cpuinfo || skip "this processor has no AVX2"
llvm=$("$compiler" --identity | sed -n 's/.* llvm \([0-9]*\).*/\1/p')
[ -n "$llvm" ] || skip "kernels are not made into vectors here"
level=llvm-$llvm-$target
[ $update = yes ] || grep -q "^$level " "$expected" ||
    skip "$expected has no figures for $level; add them with
    cmake --build BUILD_FOLDER --target guard-update"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

options_of() {
    case $1 in
    nbody | reduction | shuffle_reduction) echo "--option --use_fast_math" ;;
    esac
}

# Instructions of all blocks of kernel $1 with what they call, for each thread.
measure() {
    # shellcheck disable=SC2046
    RUNNEL_CPU_TARGET=$target "$compiler" --source "$kernels/$1.cu" \
        --name "$1.cu" --output "$folder/object.so" --option --tier=B \
        $(options_of "$1")
    if ! valgrind --tool=callgrind --toggle-collect=rnl_blocks_0 \
        --callgrind-out-file="$folder/out" "$program" "$1" \
        "$folder/object.so" \
        >"$folder/threads" 2>"$folder/log"; then
        cat "$folder/log" >&2
        exit 1
    fi
    awk -v threads="$(cat "$folder/threads")" \
        '/^totals: / { printf "%.2f", $2 / threads }' "$folder/out"
}

status=0
[ $update = no ] || grep -v "^$level " "$expected" >"$folder/new" || true
for kernel in $guarded; do
    now=$(measure "$kernel")
    if [ $update = yes ]; then
        echo "$level $kernel $now" >>"$folder/new"
        echo "$kernel: $now instructions a thread"
        continue
    fi
    before=$(awk -v level="$level" -v kernel="$kernel" \
        '$1 == level && $2 == kernel { print $3 }' "$expected")
    awk -v kernel="$kernel" -v now="$now" -v before="${before:-0}" \
        -v most=$tolerance 'BEGIN {
            printf "%s takes %s instructions a thread", kernel, now
            if (before == 0) { print ", and has no figure yet"; exit 1 }
            more = 100 * (now - before) / before
            wrong = more > most || more < -most
            printf ", %s are expected", before
            if (wrong)
                printf ": %.1f %% %s, %d %% are allowed",
                       more < 0 ? -more : more, more < 0 ? "less" : "more", most
            print ""
            exit wrong
        }' || status=1
done

if [ $update = yes ]; then
    cat "$folder/new" >"$expected"
elif [ $status -ne 0 ]; then
    echo "Where the change is meant, or an improvement, commit new figures:"
    echo "    cmake --build BUILD_FOLDER --target guard-update"
fi
exit $status
