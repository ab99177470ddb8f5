#!/bin/sh
# Kernels compile and run where nothing is but the C library and an installed
# Runnel: no compiler, no linker, no shell.
# usage: chroot.sh PREFIX
set -eu
skip() {
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can change the root folder"
folder=$(mktemp -d)
trap 'umount "$folder/proc" 2>/dev/null; rm -rf "$folder"' EXIT
mkdir -p "$folder/proc" "$folder/dev" "$folder/tmp" "$folder/runnel"
cp -a "$1/." "$folder/runnel"
mknod -m 666 "$folder/dev/null" c 1 3 2>/dev/null || skip "no device files"
mount -t proc none "$folder/proc" 2>/dev/null || skip "no /proc can be mounted"
# The loader and the C library, as the program names them.
ldd "$1/bin/runnel" | sed -n 's/.*\(=> \|^[[:space:]]*\)\(\/[^ ]*\) (.*/\2/p' |
    grep -v librunnel | while read -r library; do
    mkdir -p "$folder$(dirname "$library")"
    cp -L "$library" "$folder$library"
done
chroot=$(command -v chroot)
run() {
    env -i HOME=/tmp RUNNEL_CACHE_DISABLE=1 \
        "$chroot" "$folder" /runnel/bin/runnel "$@"
}
run check
cat >"$folder/tmp/kernel.cu" <<'END'
extern "C" __global__ void k(float *x)
{
    x[threadIdx.x] = 2 * x[threadIdx.x];
}
END
run compile /tmp/kernel.cu --json -o /tmp/kernel.rnl >"$folder/tmp/compiled"
cat "$folder/tmp/compiled"
grep -q '"tier": *"B"' "$folder/tmp/compiled"
