#!/bin/sh
# Runs programs with root's rights for somebody else.
# usage: secure.sh PROGRAM RUNNEL [RUNNEL_CC]
set -eu
skip() {
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can give its rights away"
command -v setpriv >/dev/null || skip "there is no setpriv"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cp "$1" "$folder/program"
cp "$2" "$folder/runnel"
chmod 4755 "$folder/program" "$folder/runnel"
as_another() {
    RUNNEL_CUDA=/nowhere/chosen RUNNEL_MPI=/nowhere/chosen \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
as_another "$folder/program"
for form in "" --json; do
    # shellcheck disable=SC2086
    as_another "$folder/runnel" info $form >"$folder/listed"
    if grep -q /nowhere/chosen "$folder/listed"; then
        echo "runnel info $form lists what is not believed"
        exit 1
    fi
done
[ $# -gt 2 ] || exit 0

# The compiler's: a processor and a folder.
cp "$3" "$folder/runnel-cc"
chmod 4755 "$folder/runnel-cc"
printf '__global__ void k(int *o) { *o = 1; }\n' >"$folder/kernel.cu"
compile_with() {
    as_another env "$1" "$folder/runnel-cc" --identity
    as_another env "$1" "$folder/runnel-cc" --source "$folder/kernel.cu" \
        --output "$folder/kernel.so"
}
for setting in RUNNEL_CPU_TARGET=chosen TMPDIR="$folder/chosen/nowhere"; do
    compile_with "$setting" >"$folder/said" 2>&1 || {
        cat "$folder/said"
        exit 1
    }
    if grep chosen "$folder/said"; then
        echo "runnel-cc believes $setting"
        exit 1
    fi
done
