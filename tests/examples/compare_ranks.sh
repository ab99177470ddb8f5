#!/bin/sh
# compare_ranks.sh openmpi|mpich PROGRAM FILE: runs PROGRAM as two ranks, which
# have to succeed and print the lines of FILE, in any order. Digits of measured
# times do not count. Ends with 77 where the launcher is not installed.
set -eu
family=$1 program=$2 golden=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Some examples are told their ranks; they find the rest by a place to meet.
case $program in
*comm_file) place=$folder/meet ;;
*comm_address)
    # A port that the system has free.
    place=localhost:$(python3 -c "import socket
listener = socket.socket()
listener.bind(('localhost', 0))
print(listener.getsockname()[1])")
    ;;
*) place='' ;;
esac
# shellcheck disable=SC2016 # of the shell that each rank is
sh "$(dirname "$0")/../comm/mpirun.sh" "$family" 2 sh -c '
    program=$1 place=$2
    shift 2
    if [ -n "$place" ]; then
        set -- "$place" "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" 2
    fi
    exec "$program" "$@"' rank "$program" "$place" >"$folder/out" || exit
sed 's/[0-9][0-9]*\.[0-9]* ms/N ms/g' "$folder/out" | LC_ALL=C sort |
    diff "$golden" -
