#!/bin/sh
# Runs a program of one test as several ranks, under the launcher of an MPI.
#
# usage: mpirun.sh openmpi|mpich RANKS PROGRAM [ARGUMENT...]
#
# Ends with 77 where the launcher is not installed.
set -eu

family=$1 ranks=$2
shift 2

# The folder of the ranks is not for whoever runs the tests next.
COMM_TEST_FOLDER=$(mktemp -d)
export COMM_TEST_FOLDER
trap 'rm -rf "$COMM_TEST_FOLDER"' EXIT

find_launcher()
{
    for name in "$@"; do
        if command -v "$name" >/dev/null 2>&1; then
            launcher=$name
            return
        fi
    done
    echo "skipped: $family is not installed (none of: $*)"
    exit 77
}

case $family in
openmpi)
    find_launcher mpirun.openmpi
    # Open MPI asks this of root, and for more ranks than cores.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
    "$launcher" --oversubscribe -n "$ranks" "$@"
    ;;
mpich)
    find_launcher mpirun.mpich mpiexec.hydra
    # A rank that dies does not take the others along.
    "$launcher" -disable-auto-cleanup -n "$ranks" "$@"
    ;;
esac
