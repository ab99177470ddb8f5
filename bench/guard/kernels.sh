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
least=0
unit='instructions a thread'
target=x86-64-v3  # valgrind knows no AVX-512
guarded='saxpy matmul nbody reduction shuffle_reduction histogram mandelbrot'

# shellcheck source=bench/guard/figures.sh
. "$(dirname "$0")/figures.sh"

if [ $# -ne 4 ]; then
    echo "usage: kernels.sh [--update] PROGRAM COMPILER KERNELS EXPECTED" >&2
    exit 2
fi
program=$1 compiler=$2 kernels=$3 expected=$4

command -v valgrind >/dev/null || skip "valgrind is not installed"
grep -qw avx2 /proc/cpuinfo || skip "this processor has no AVX2"
llvm=$("$compiler" --identity | sed -n 's/.* llvm \([0-9]*\).*/\1/p')
[ -n "$llvm" ] || skip "kernels are not made into vectors here"
build=llvm-$llvm-$target
figures_needed

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

# shellcheck disable=SC2086
take_figures $guarded
