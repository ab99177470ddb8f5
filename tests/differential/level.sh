#!/bin/sh
# A corpus file compiled for another level of processors, and run where this
# one has it.
#
#   level.sh LEVEL TEST_CORPUS RUNNEL_CC FILE
#
# LEVEL is what -march= takes, or aarch64: then the vector code is compiled for
# that by llc, as a sign that nothing in it holds on x86 only. Exit status: 0; 1
# when something is wrong; 77 (skipped) without llc.

set -eu

level=$1 corpus=$2 compiler=$3 file=$4

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

processor_has() {
    for feature; do
        grep -qw "$feature" /proc/cpuinfo || return 1
    done
}

can_run() {
    case $level in
    x86-64) ;;
    x86-64-v3) processor_has avx2 bmi2 fma movbe ;;
    x86-64-v4) processor_has avx512f avx512bw avx512cd avx512dq avx512vl ;;
    *) return 1 ;;
    esac
}

# With the words that the file asks for; further ones are the caller's.
compile() {
    words=$(sed -n 's,^// @options ,,p' "$file" | head -n 1)
    for word in ${words:---fmad=false}; do
        set -- "$@" --option "$word"
    done
    "$compiler" --source "$file" --output "$folder/object.so" "$@"
}

compile_for_aarch64() {
    llc=$(command -v llc-19) || {
        echo "skipped: llc-19 is not installed"
        exit 77
    }
    RUNNEL_CPU_TARGET=x86-64-v3 compile --dump-ir "$folder/kernels"
    "$llc" -mtriple=aarch64-linux-gnu -O1 -filetype=obj \
        "$folder/kernels.finished.ll" -o "$folder/kernels.o"
    echo "compiled for aarch64"
}

if [ "$level" = aarch64 ]; then
    compile_for_aarch64
elif can_run; then
    RUNNEL_CPU_TARGET=$level "$corpus" "$file"
else
    RUNNEL_CPU_TARGET=$level compile
    echo "compiled; this processor cannot run $level"
fi
