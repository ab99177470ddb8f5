#!/bin/sh
# Makes bindings of abi.json and runs a program on them; ends with 77 where the
# language is not there.
# usage: run.sh lua|rust PYTHON ABI.json LIBRARY SOURCE FOLDER
set -eu
language=$1 python=$2 abi=$3 library=$4 source=$5 folder=$6

skip()
{
    command -v "$1" >/dev/null || {
        echo "skipped: no $1 (Debian: $2)"
        exit 77
    }
}
mkdir -p "$folder"
case $language in
lua)
    skip luajit luajit
    "$python" "$source/make_bindings.py" lua "$abi" >"$folder/bindings.lua"
    luajit "$source/vector_add.lua" "$folder/bindings.lua" "$library"
    ;;
rust)
    skip rustc rustc
    "$python" "$source/make_bindings.py" rust "$abi" >"$folder/bindings.rs"
    cp "$source/vector_add.rs" "$folder"
    path=$(dirname "$library")
    rustc -D warnings -A clippy::all -L "native=$path" -l dylib=runnel \
        -C link-arg="-Wl,-rpath,$path" -o "$folder/vector_add" \
        "$folder/vector_add.rs"
    "$folder/vector_add"
    ;;
esac
