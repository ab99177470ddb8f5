#!/bin/sh
# Builds and installs the library as a static one, and consumer.c with that in
# each way. usage: static.sh CMAKE GENERATOR CC PKG_CONFIG|- SOURCE FOLDER
set -eu
cmake=$1 generator=$2 cc=$3 pkg_config=$4 source=$5 folder=$6

rm -rf "$folder/prefix"
"$cmake" -S "$source/static" -B "$folder/build" -G "$generator" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug \
    -DBUILD_SHARED_LIBS=OFF -DRUNNEL_BUILD_COMPILER=OFF -DRUNNEL_INSTALL=ON
"$cmake" --build "$folder/build"
"$folder/build/consumer"
"$cmake" --install "$folder/build" --prefix "$folder/prefix"

libdir=$(dirname "$(find "$folder/prefix" -name librunnel.a)")
names=$(nm -g --defined-only "$libdir/librunnel.a" |
    sed -n 's/.* [A-Z] //p' | grep -v '^rnl_' || true)
if [ -n "$names" ]; then
    echo "names that are not public: $names" >&2
    exit 1
fi

"$cmake" -S "$source/find_package" -B "$folder/found" -G "$generator" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$folder/prefix"
"$cmake" --build "$folder/found"
"$folder/found/consumer"

if [ "$pkg_config" != - ]; then
    sh "$source/pkg_config.sh" "$pkg_config" "$cc" "$libdir" \
        "$source/consumer.c" "$folder/consumer"
fi
