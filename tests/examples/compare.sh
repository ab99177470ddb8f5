#!/bin/sh
# compare.sh PROGRAM FILE: runs PROGRAM, which has to succeed, print nothing on
# standard error, and print the lines of FILE; in any order where FILE is sorted
# and named print_indices.txt.
set -u
program=$1
golden=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

"$program" >"$folder/out" 2>"$folder/err"
code=$?
if [ "$code" -ne 0 ] || [ -s "$folder/err" ]; then
    echo "exit code $code, standard error:"
    cat "$folder/err"
    exit 1
fi
if [ "$(basename "$golden")" = print_indices.txt ]; then
    LC_ALL=C sort -o "$folder/out" "$folder/out"
fi
diff "$golden" "$folder/out"
