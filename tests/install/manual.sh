#!/bin/sh
# The installed manual pages say what the program's help pages say, line by line,
# and troff takes them without a warning.
#
# usage: manual.sh FOLDER PROGRAM
set -eu

folder=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for command in '' info check compile run cache; do
    page=$folder/runnel${command:+-$command}.1
    # shellcheck disable=SC2086  # no command is no word
    "$program" help $command | sed '1,2d; s/^ *//' >"$work/help"
    sed '1,3d; s/^\.SH //; /^\.[nf][fi]$/d; s/\\&//g; s/\\-/-/g; s/\\e/\\/g; s/^ *//' \
        "$page" >"$work/page"
    cmp "$work/help" "$work/page"
    if command -v groff >/dev/null; then
        groff -man -ww -z "$page" 2>"$work/warnings"
        cat "$work/warnings"
        [ ! -s "$work/warnings" ]
    fi
done
