#!/bin/sh
# case.sh [--code N] [--out REGEX]... [--err REGEX]... [--json 'PATH=VALUE']...
#         [--narrow] [--full] [--python PYTHON] [--stdin FILE] -- COMMAND...
#
# Runs COMMAND and looks at its exit code (0 without --code), at lines of its
# standard output and standard error, and at values of its JSON output, where
# PATH has spaces between its steps. Without --out, --json and --narrow nothing
# may be printed, without --err nothing complained. --narrow wants no line over
# 80 columns, --python that Python can read the JSON, --full gives a standard
# output that cannot be written.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
here=$(dirname "$0")

code=0 python='' narrow=no stdin=/dev/null output=$folder/out
quiet_out=yes quiet_err=yes
: >"$folder/out"
: >"$folder/outs" ; : >"$folder/errs" ; : >"$folder/jsons"
while [ "$1" != -- ]; do
    case $1 in
        --code) code=$2 ;;
        --out) echo "$2" >>"$folder/outs"; quiet_out=no ;;
        --err) echo "$2" >>"$folder/errs"; quiet_err=no ;;
        --json) echo "$2" >>"$folder/jsons"; quiet_out=no ;;
        --python) python=$2; quiet_out=no ;;
        --stdin) stdin=$2 ;;
        --narrow) narrow=yes; quiet_out=no; shift; continue ;;
        --full) output=/dev/full; shift; continue ;;
        *) echo "case.sh: what is $1?"; exit 99 ;;
    esac
    shift 2
done
shift

"$@" <"$stdin" >"$output" 2>"$folder/err"
got=$?

fail() {
    echo "FAILED: $1"
    echo "--- exit code $got, standard output:"
    cat "$folder/out"
    echo "--- standard error:"
    cat "$folder/err"
    exit 1
}

[ "$got" -eq "$code" ] || fail "exit code $got instead of $code"
while IFS= read -r regex; do
    grep -Eq -e "$regex" "$folder/out" || fail "no output like '$regex'"
done <"$folder/outs"
while IFS= read -r regex; do
    grep -Eq -e "$regex" "$folder/err" || fail "no complaint like '$regex'"
done <"$folder/errs"
while IFS= read -r check; do
    cmake "-DFILE=$folder/out" "-DCHECK=$check" -P "$here/json.cmake" \
        2>"$folder/why" || fail "$(cat "$folder/why")"
done <"$folder/jsons"
if [ $quiet_out = yes ] && [ -s "$folder/out" ]; then
    fail "standard output is not empty"
fi
if [ $quiet_err = yes ] && [ -s "$folder/err" ]; then
    fail "standard error is not empty"
fi
if [ $narrow = yes ] && grep -Eq '^.{81}' "$folder/out"; then
    fail "a line has more than 80 columns"
fi
if [ -n "$python" ]; then
    "$python" -m json.tool "$folder/out" >/dev/null || fail "not JSON"
fi
exit 0
