#!/bin/sh
# Builds and runs the project kernels/ with an installed package. Objects need no
# compiler at run time; a wrong file is a failed build that names the line.
# usage: kernels.sh CMAKE GENERATOR CC CXX PREFIX SOURCE FOLDER
set -eu
cmake=$1 generator=$2 cc=$3 cxx=$4 prefix=$5 source=$6 folder=$7

# told WORDS: fails, and shows the log, unless the log has them. CMake breaks the
# lines of its messages at a width, so that line ends count as blanks.
told()
{
    tr -s ' \n' ' ' <"$folder/log" | grep -qe "$1" || {
        cat "$folder/log" >&2
        echo "'$1' was not told" >&2
        exit 1
    }
}

test -s "$prefix/share/runnel/abi.json"
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$source/kernels" "$folder/a project"
"$cmake" -S "$folder/a project" -B "$folder/build" -G "$generator" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$folder/build"
# The compiler's names of headers are those of files: nothing is made again.
"$cmake" --build "$folder/build" >"$folder/log"
if grep 'Compiling the kernels' "$folder/log"; then
    exit 1
fi
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
told '/absent'

# As C++, too; and processors that are named stay in the user's order.
embedded=$folder/build/runnel_kernels/with_both
for file in "$embedded"/*.c; do
    "$cxx" -x c++ -Wall -Wextra -Wpedantic -Wold-style-cast -Werror \
        -I"$prefix/include" -I"$embedded" -c "$file" -o "$folder/checked.o"
done
order=$(sed -n 's/.*{"\([^"]*\)", object_.*/\1/p' "$embedded/with_both_add.c")
[ "$order" = "$(printf 'x86-64\nnocona')" ]

# A changed header is compiled again: the results are others.
echo '#define FACTOR 4' >"$folder/a project/kernels/factor.h"
"$cmake" --build "$folder/build"
if "$folder/build/with_object" object 2>"$folder/log"; then
    echo "the changed header was not compiled" >&2
    exit 1
fi
told 'a result is wrong'

echo '#define FACTOR ,' >"$folder/a project/kernels/factor.h"
if "$cmake" --build "$folder/build" >"$folder/log" 2>&1; then
    echo "a kernel with an error was built" >&2
    exit 1
fi
told 'scale.cu:8'
told 'does not compile for x86-64'

# Text ends at its first zero.
printf '// \0' >"$folder/zero.cu"
script=$(find "$prefix" -name RunnelEmbed.cmake)
if "$cmake" "-DOUTPUT=$folder/zero.c" -DNAME=zero "-DFILE=$folder/zero.cu" \
    "-DSOURCE=$folder/zero.cu" -P "$script" 2>"$folder/log"; then
    echo "a source with a zero byte was embedded" >&2
    exit 1
fi
told 'zero.cu is not a text file'

# An object may include what HEADERS does not name; embedded text may not.
echo '#define FACTOR 3' >"$folder/a project/kernels/factor.h"
sed -i '/set(embed source object)/a set(headers)' "$folder/a project/CMakeLists.txt"
if "$cmake" --build "$folder/build" --target with_both >"$folder/log" 2>&1; then
    echo "text was embedded without its header" >&2
    exit 1
fi
told 'includes .*factor.h, which HEADERS does not name'

# refused WORDS SENTENCE: what runnel_add_kernels says when it is misused.
refused()
{
    mkdir -p "$folder/misuse/below"
    echo "add_library(below STATIC $source/consumer.c)" \
        >"$folder/misuse/below/CMakeLists.txt"
    cat >"$folder/misuse/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(misuse LANGUAGES C)
find_package(Runnel REQUIRED)
add_library(lib STATIC $source/consumer.c)
add_library(also ALIAS lib)
add_library(head INTERFACE)
add_subdirectory(below)
runnel_add_kernels($1)
END
    if "$cmake" -S "$folder/misuse" -B "$folder/misuse/build" -G "$generator" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
        >"$folder/log" 2>&1; then
        echo "not refused: $1" >&2
        exit 1
    fi
    told "$2"
}
scale=$source/kernels/kernels/scale.cu
refused "absent $scale" "there is no target 'absent'"
refused "lib" "no kernel file is given"
refused "lib absent.cu" "there is no file .*absent.cu"
refused "lib $scale EMBED objects" "not 'objects'"
refused "lib $scale TARGETS x86-64-v3" "TARGETS is for EMBED object"
refused "lib $scale $scale" "two kernel files make the name lib_scale"
refused "lib $scale HEADERS $source/consumer.c" "lies outside of"
refused "lib $source" "$source is a folder"
refused "lib $scale OPTIONS [[-DX=a;b]]" "'-DX=a;b' has a semicolon"
refused "also $scale" "is another name of 'lib'"
refused "head $scale" "is an interface library"
refused "below $scale" "is not a target of this folder"
