#!/bin/sh
# Builds and runs consumer.c with what pkg-config says.
# usage: pkg_config.sh PKG_CONFIG CC LIBDIR SOURCE OUTPUT [comm]
set -eu
pkg_config=$1 cc=$2 libdir=$3 source=$4 output=$5 comm=${6:-}

PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
# The flags are meant to be split.
# shellcheck disable=SC2046
"$cc" -std=c11 $("$pkg_config" --cflags runnel) "$source" \
    $("$pkg_config" --libs runnel) -Wl,-rpath,"$libdir" -o "$output"
"$output"

if [ "$comm" = comm ]; then
    # shellcheck disable=SC2046
    "$cc" -std=c11 $("$pkg_config" --cflags runnel-comm) "${source%.c}_comm.c" \
        $("$pkg_config" --libs runnel-comm) -Wl,-rpath,"$libdir" -o "${output}_comm"
    "${output}_comm"
fi
