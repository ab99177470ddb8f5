#!/bin/sh
# Builds and runs the project kernels/ with an installed package. Objects need no
# compiler at run time; a wrong file is a failed build that names the line.
# usage: kernels.sh CMAKE GENERATOR CC CXX PREFIX SOURCE FOLDER
set -eu
cmake=$1 generator=$2 cc=$3 cxx=$4 prefix=$5 source=$6 folder=$7

test -s "$prefix/share/runnel/abi.json"
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$source/kernels" "$folder/project"
"$cmake" -S "$folder/project" -B "$folder/build" -G "$generator" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$folder/build"
for how in source object both; do
    "$folder/build/with_$how" "$how"
done
RUNNEL_CC=/absent RUNNEL_CACHE_DISABLE=1 "$folder/build/with_object" object
RUNNEL_CC=/absent RUNNEL_CACHE_DISABLE=1 "$folder/build/with_both" both
if RUNNEL_CC=/absent RUNNEL_CACHE_DISABLE=1 "$folder/build/with_source" source \
    2>"$folder/log"; then
    echo "source compiled without a compiler" >&2
    exit 1
fi
grep -q '/absent' "$folder/log"

# A changed header is compiled again: the results are others.
echo '#define FACTOR 4' >"$folder/project/kernels/factor.h"
"$cmake" --build "$folder/build"
if "$folder/build/with_object" object 2>"$folder/log"; then
    echo "the changed header was not compiled" >&2
    exit 1
fi
grep -q 'a result is wrong' "$folder/log"

echo '#define FACTOR ,' >"$folder/project/kernels/factor.h"
if "$cmake" --build "$folder/build" >"$folder/log" 2>&1; then
    echo "a kernel with an error was built" >&2
    exit 1
fi
grep -q 'scale.cu:8' "$folder/log"
tr -s ' \n' ' ' <"$folder/log" | grep -q 'does not compile for x86-64'

# refused WORDS SENTENCE: what runnel_add_kernels says when it is misused.
refused()
{
    mkdir -p "$folder/misuse"
    cat >"$folder/misuse/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(misuse LANGUAGES C)
find_package(Runnel REQUIRED)
add_library(lib STATIC $source/consumer.c)
runnel_add_kernels($1)
END
    if "$cmake" -S "$folder/misuse" -B "$folder/misuse/build" -G "$generator" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
        >"$folder/log" 2>&1; then
        echo "not refused: $1" >&2
        exit 1
    fi
    tr -s ' \n' ' ' <"$folder/log" | grep -qe "$2" || {
        cat "$folder/log" >&2
        exit 1
    }
}
scale=$source/kernels/kernels/scale.cu
refused "absent $scale" "there is no target 'absent'"
refused "lib" "no kernel file is given"
refused "lib absent.cu" "there is no file .*absent.cu"
refused "lib $scale EMBED objects" "not 'objects'"
refused "lib $scale TARGETS x86-64-v3" "TARGETS is for EMBED object"
refused "lib $scale $scale" "two kernel files make the name lib_scale"
refused "lib $scale HEADERS $source/consumer.c" "lies outside of"
