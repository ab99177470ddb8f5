#!/bin/sh
# What tools/run-fuzz makes of targets that find something, and of such that do
# not, with scripts in their place.
#
# usage: run_fuzz.sh tools/run-fuzz FOLDER
set -eu
run=$1
rm -rf "$2"
mkdir -p "$2/build/fuzz/tests/bin"
cd "$2"

# target NAME STATUS: one that says what libFuzzer does.
target()
{
    mkdir -p "tests/fuzz/seeds/$1"
    cat >"build/fuzz/tests/bin/fuzz-$1" <<SCRIPT
#!/bin/sh
echo "\$*" >asked-$1
echo "#7	NEW    cov: 12 ft: 3 corp: 1/1b"
echo "stat::number_of_executed_units: 1000"
[ $2 = 0 ] || echo "==1==ERROR: AddressSanitizer: SEGV"
[ $2 = 0 ] || echo "artifact_prefix='x'; Test unit written to x/crash-1"
exit $2
SCRIPT
    chmod +x "build/fuzz/tests/bin/fuzz-$1"
}

# check VERDICT [ARGUMENT]...
check()
{
    wanted=$1
    shift
    "$run" "$@" >said || true
    case $(tail -1 said) in
    "$wanted"*) ;;
    *)
        echo "'$(tail -1 said)' does not begin with '$wanted'"
        exit 1
        ;;
    esac
}

check 'FAIL: fuzz: 0 passed, 0 failed, 0 skipped, 0 executions'
target one 0
target two 0
target three 0
check 'PASS: fuzz: 3 passed, 0 failed, 0 skipped, 3000 executions' 5
grep -q -- '-max_total_time=5 ' asked-two
grep -q -- ' tests/fuzz/seeds/two$' asked-two
grep -qE '^two +ok +1000 executions, +12 edges covered$' said
target two 77
check 'FAIL: fuzz: 2 passed, 1 failed, 0 skipped, 3000 executions' 5
grep -q 'AddressSanitizer: SEGV' said
grep -q '^Reproduce: build/fuzz/tests/bin/fuzz-two x/crash-1$' said
check 'PASS: fuzz: 1 passed, 0 failed, 0 skipped, 1000 executions' 5 2 '^one$'
