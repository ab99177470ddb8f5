#!/bin/sh
# Starts a program with the static library in its folder, and by a false name,
# and looks whose compiler it runs. usage: place.sh PROGRAM
set -eu
unset RUNNEL_CC
export RUNNEL_CACHE_DISABLE=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/own" "$folder/other"
cp "$1" "$folder/own/program"
for place in own other; do
    printf '#!/bin/sh\necho >>"%s/%s/ran"\nexit 1\n' "$folder" "$place" \
        >"$folder/$place/runnel-cc"
    chmod 755 "$folder/$place/runnel-cc"
done

# must_run WHAT: the program's own compiler ran, and nobody else's.
must_run() {
    if [ ! -e "$folder/own/ran" ] || [ -e "$folder/other/ran" ]; then
        echo "$1 ran another compiler than its own"
        exit 1
    fi
    rm "$folder/own/ran"
}

cd "$folder/own"
./program
must_run "a program that left its folder"
"$1" "$folder/own/program" "$folder/other/program"
must_run "a program by a false name"
