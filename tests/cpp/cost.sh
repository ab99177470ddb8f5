#!/bin/sh
# cost.sh COMPILER INCLUDE SOURCE: a call of runnel.hpp has no more instructions
# than the C call; each handle behind a reference takes one load.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" -std=c++17 -O2 -I"$2" -c "$3" -o "$folder/cost.o"
# The instructions of a function, without padding and without loads of a handle.
count() {
    objdump -d --no-show-raw-insn "$folder/cost.o" |
        awk -v name="<$1>:" '$2 == name {on = 1; next} on && NF == 0 {exit} on' |
        grep -Evc 'nop|xchg +%ax,%ax|data16'
}
check() {
    c=$(count "$1") cpp=$(count "$2")
    echo "$2: $cpp instructions, $1: $c, loads of handles: $3"
    [ "$c" -gt 5 ] && [ "$cpp" -le $((c + $3)) ]
}
check launch_c launch_cpp 3
check launch_c untyped_cpp 3
check record_c record_cpp 2
