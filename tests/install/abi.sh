#!/bin/sh
# A program that was built against the last release runs with this library: no
# function is gone and no struct changed but at its end.
# usage: abi.sh SOURCE LIBRARY CMAKE   RUNNEL_ABI_BASE=REVISION: against that
set -eu
source=$1 library=$2 cmake=$3
skip() {
    echo "skipped: $1"
    exit 77
}
command -v abidiff >/dev/null || skip "there is no abidiff (abigail-tools)"
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || skip "this tree is not from git"
base=${RUNNEL_ABI_BASE-$(git -C "$source" describe --tags --match 'v[0-9]*' \
    --abbrev=0 2>/dev/null || true)}
[ -n "$base" ] || skip "no release is tagged yet"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/source"
git -C "$source" archive "$base" | tar -xC "$folder/source"
"$cmake" -S "$folder/source" -B "$folder/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DRUNNEL_BUILD_COMPILER=OFF -DRUNNEL_BUILD_CLI=OFF -DRUNNEL_BUILD_EXAMPLES=OFF \
    -DRUNNEL_BUILD_BENCH=OFF -DRUNNEL_BUILD_TESTS=OFF >/dev/null
"$cmake" --build "$folder/build" -j2 --target runnel >/dev/null
abidiff --no-added-syms --suppressions "$source/tests/install/abi.suppr" \
    --headers-dir1 "$folder/source/include" --headers-dir2 "$source/include" \
    "$folder/build/lib/librunnel.so" "$library"
echo "compatible with $base"
