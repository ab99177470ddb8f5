#!/bin/sh
# What tools/run-tests makes of failures, with a ctest that only prints.
#
# usage: run_tests.sh tools/run-tests FOLDER
set -eu
run=$1
rm -rf "$2"
mkdir -p "$2/build/dev"
cd "$2"

# Prints the file first and fails; asked once more, ends as the file again says.
cat >ctest <<'EOF'
#!/bin/sh
echo "$*" >>asked
case "$*" in
*until-fail*) exit "$(cat again)" ;;
esac
cat first
exit 8
EOF
chmod +x ctest

# check VERDICT AGAIN WHY
check()
{
    : >asked
    echo "$2" >again
    verdict=$(PATH=$PWD:$PATH SKIP_LABELS=${4-} "$run" dev | tail -1)
    case $verdict in
    "$1"*) ;;
    *)
        echo "$3: '$verdict' does not begin with '$1'"
        exit 1
        ;;
    esac
}

# lines TEXT...: what ctest prints, of which TEXT is said of the bad test.
lines()
{
    printf '%s\n' '1/2 Test  #1: a.good_test .......   Passed    0.02 sec' \
        '2/2 Test  #2: a.bad_test ........***Failed    0.02 sec' "$@" >first
}

lines 'error: 1 != 2'
check 'PASS: dev: 1 passed, 0 failed, 1 unstable, 0 skipped' 0 'passes alone'
grep -qF -- '-R ^(a[.]bad_test)$' asked
check 'FAIL: dev: 1 passed, 1 failed, 0 skipped' 8 'fails alone, too'
check 'PASS: dev: 1 passed' 0 'without slow tests' '^slow$'
grep -qF -- '-LE ^slow$' asked
lines 'WARNING: ThreadSanitizer: data race'
check 'FAIL: dev: 1 passed, 1 failed, 0 skipped' 0 'a race'
sed -i 's/Failed /Timeout/' first
check 'FAIL: dev: 1 passed, 1 failed, 0 skipped' 0 'a hang'
for number in 1 2 3; do
    echo "$number/3 Test  #$number: a.test$number ......***Failed    0.02 sec"
done >first
check 'FAIL: dev: 0 passed, 3 failed, 0 skipped' 0 'too many'
