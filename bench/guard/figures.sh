# Read by guard.sh and kernels.sh, after they set
#
#   expected   the file with the figures: lines of BUILD NAME INSTRUCTIONS
#   build      whose figures these are: others have other counts
#   tolerance  percent
#   least      a difference of so many instructions is allowed anyway
#   unit       what a figure counts
#   update     yes: figures are written instead of compared
# and
#   measure    a function: prints the figure of $1
# shellcheck shell=sh disable=SC2154

skip() {
    echo "skipped: $*"
    exit 77
}

figures_needed() {
    [ "$update" = yes ] || grep -q "^$build " "$expected" ||
        skip "$expected has no figures for $build; add them with
    cmake --build BUILD_FOLDER --target guard-update"
}

# One figure: written, or compared. Fails when it left its limits.
take_figure() {
    now=$(measure "$1") || exit 1
    if [ "$update" = yes ]; then
        echo "$build $1 $now" >>"$folder/new"
        echo "$1: $now $unit"
        return
    fi
    before=$(awk -v build="$build" -v name="$1" \
        '$1 == build && $2 == name { print $3 }' "$expected")
    awk -v name="$1" -v now="$now" -v before="${before:-0}" \
        -v most="$tolerance" -v least="$least" -v unit="$unit" 'BEGIN {
            printf "%s takes %s %s", name, now, unit
            if (before == 0) { print ", and has no figure yet"; exit 1 }
            more = now - before
            size = more < 0 ? -more : more
            wrong = size > least && size > before * most / 100
            printf ", %s are expected", before
            if (wrong)
                printf ": %.1f %% %s, %d %% are allowed",
                       100 * size / before, more < 0 ? "less" : "more", most
            print ""
            exit wrong
        }'
}

# Takes the figures of all names given; ends the script.
take_figures() {
    status=0
    [ "$update" = no ] ||
        grep -v "^$build " "$expected" >"$folder/new" || true
    for name in "$@"; do
        take_figure "$name" || status=1
    done
    if [ "$update" = yes ]; then
        cat "$folder/new" >"$expected"
    elif [ $status -ne 0 ]; then
        echo "Where the change is meant, or an improvement, commit new figures:"
        echo "    cmake --build BUILD_FOLDER --target guard-update"
    fi
    exit $status
}

update=no
if [ "${1-}" = --update ]; then
    update=yes
    shift
fi
