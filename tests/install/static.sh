#!/bin/sh
# Builds and installs the library as a static one, and consumer.c with that in
# each way. usage: static.sh CMAKE GENERATOR CC PKG_CONFIG|- SOURCE FOLDER
set -eu
cmake=$1 generator=$2 cc=$3 pkg_config=$4 source=$5 folder=$6

rm -rf "$folder/prefix" "$folder/found"
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

# The package lies elsewhere now, and the programs in a third place.
rm -rf "$folder/moved"
mv "$folder/prefix" "$folder/moved"
mkdir -p "$folder/moved/libexec/runnel"
printf '#!/bin/sh\necho >"%s/moved/ran"\nexit 1\n' "$folder" \
    >"$folder/moved/libexec/runnel/runnel-cc"
chmod 755 "$folder/moved/libexec/runnel/runnel-cc"
"$cmake" -S "$source/find_package" -B "$folder/found" -G "$generator" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$folder/moved"
"$cmake" --build "$folder/found"
"$folder/found/consumer"
env -u RUNNEL_CC RUNNEL_CACHE_DISABLE=1 "$folder/found/place"
test -e "$folder/moved/ran"

if [ "$pkg_config" != - ]; then
    sh "$source/pkg_config.sh" "$pkg_config" "$cc" "$folder/moved/${libdir#"$folder/prefix/"}" \
        "$source/consumer.c" "$folder/consumer"
fi

# Folders with absolute names stay where they are.
"$cmake" -S "$source/static" -B "$folder/build" -DRUNNEL_BUILD_CLI=ON \
    -DCMAKE_INSTALL_LIBDIR=/opt/x/lib -DCMAKE_INSTALL_INCLUDEDIR=/opt/x/include
grep -qx 'libdir=/opt/x/lib' "$folder/build/runnel/runnel.pc"
grep -qx 'includedir=/opt/x/include' "$folder/build/runnel/runnel.pc"
grep -q 'RPATH "/opt/x/lib"' "$folder/build/runnel/cmake_install.cmake"
"$cmake" -S "$source/static" -B "$folder/build" -DRUNNEL_BUILD_CLI=OFF \
    -UCMAKE_INSTALL_LIBDIR -UCMAKE_INSTALL_INCLUDEDIR
