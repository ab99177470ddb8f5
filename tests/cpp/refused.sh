#!/bin/sh
# refused.sh COMPILER INCLUDE SOURCE: the source does not compile, and the
# compiler says what its first line expects.
set -u
expected=$(sed -n '1s/^\/\/ expected: //p' "$3")
[ -n "$expected" ] || exit 1
if out=$("$1" -std=c++17 -fsyntax-only -I"$2" "$3" 2>&1); then
    echo "it compiles"
    exit 1
fi
# Messages are wrapped in quotes that differ; the words do not.
echo "$out" | grep -E "$expected" && exit
echo "expected: $expected"
echo "$out" | head -40
exit 1
