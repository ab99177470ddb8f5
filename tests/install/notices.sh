#!/bin/sh
# notices.sh FOLDER [runnel-cc]: an installation's share/doc/runnel tells what is
# linked in, and has each licence text that it names; with `runnel-cc` also what
# that program contains, each with a version.
set -eu

folder=$1
notices=$folder/NOTICES

fail() {
    echo "$1"
    cat "$notices"
    exit 1
}

[ -s "$folder/LICENSE" ] || { echo "there is no LICENSE"; exit 1; }
[ -s "$notices" ] || { echo "there is no NOTICES"; exit 1; }

# The libraries of this build, below that heading.
linked=$(sed '1,/^This build$/d' "$notices")
tells() {
    echo "$linked" | grep -q "^  $1 [^ ].*[0-9]\$" || fail "no version of $1"
}

tells xxHash
if [ "${2-}" = runnel-cc ]; then
    for name in "clang, LLVM and lld" zlib Zstandard "libstdc++ and libgcc" \
        "GNU C Library"; do
        tells "$name"
    done
    for licence in "LLVM Exceptions" "zlib License" "GCC Runtime Library" LGPL; do
        grep -q "$licence" "$notices" || fail "no word of $licence"
    done
fi

# Each text that is named is there, and no other.
echo "$linked" | sed -n 's/^  licence text: licenses\///p' | sort >"$folder.named"
if [ -d "$folder/licenses" ]; then
    find "$folder/licenses" -type f | sed 's/.*\///' | sort >"$folder.there"
else
    : >"$folder.there"
fi
diff "$folder.named" "$folder.there" || fail "named and installed texts differ"
while read -r package; do
    [ -s "$folder/licenses/$package" ] || fail "licenses/$package is empty"
done <"$folder.named"
rm -f "$folder.named" "$folder.there"
