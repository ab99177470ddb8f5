#!/bin/sh
# A program that was built against the last release runs with this library: no
# function is gone, and no struct changed but at its end, where it has struct_size.
# usage: abi.sh SOURCE LIBRARY CMAKE   RUNNEL_ABI_BASE=REVISION: against that
set -eu
source=$1 library=$2 cmake=$3
skip() {
    echo "skipped: $1"
    exit 77
}
command -v abidiff >/dev/null || skip "there is no abidiff (abigail-tools)"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

grows=$(sed -n 's/^  {"name": "\(rnl_[a-z0-9_]*\)",.*"fields": \[{"name": "struct_size".*/\1/p' \
    "$source/include/abi.json" | paste -sd '|')
cat >"$folder/growth" <<END
[suppress_type]
type_kind = struct
name_regexp = ^($grows)\$
has_data_member_inserted_at = end
END

# may_grow STRUCT: what abidiff says of one more member at the end.
may_grow()
{
    for more in "" "int more;"; do
        echo "struct $1 { unsigned long struct_size; $more }; int f(struct $1 *);" \
            "int f(struct $1 *s) { return s != 0; }" |
            ${CC:-cc} -g -shared -fPIC -x c - -o "$folder/one${more:+more}.so"
    done
    abidiff --suppressions "$folder/growth" "$folder/one.so" "$folder/onemore.so" \
        >"$folder/grown"
}
may_grow rnl_launch
if may_grow rnl_arg; then
    echo "an element of an array may not grow" >&2
    exit 1
fi

git -C "$source" rev-parse HEAD >/dev/null 2>&1 || skip "this tree is not from git"
base=${RUNNEL_ABI_BASE-$(git -C "$source" describe --tags --match 'v[0-9]*' \
    --abbrev=0 2>/dev/null || true)}
[ -n "$base" ] || skip "no release is tagged yet"
mkdir "$folder/source"
git -C "$source" archive "$base" | tar -xC "$folder/source"
"$cmake" -S "$folder/source" -B "$folder/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DRUNNEL_BUILD_COMPILER=OFF -DRUNNEL_BUILD_CLI=OFF -DRUNNEL_BUILD_EXAMPLES=OFF \
    -DRUNNEL_BUILD_BENCH=OFF -DRUNNEL_BUILD_TESTS=OFF >/dev/null
"$cmake" --build "$folder/build" -j2 --target runnel >/dev/null
soname() {
    readelf -dW "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'
}
[ "$(soname "$library")" = "$(soname "$folder/build/lib/librunnel.so")" ] ||
    skip "$base has another soname, and so another promise"
abidiff --no-added-syms --suppressions "$folder/growth" \
    --headers-dir1 "$folder/source/include" --headers-dir2 "$source/include" \
    "$folder/build/lib/librunnel.so" "$library"
echo "compatible with $base"
