// hiprtc: the vendor's compiler. It is found and loaded at first use, but does
// not compile for Runnel yet.
#pragma once

#include <stddef.h>

struct hiprtc {
#define SYMBOL(name, vendor, type, parameters) type (*name) parameters;
#include "backends/hip/hiprtc.def"
};

// NULL with the reason if the library, a symbol of it or the library that it
// needs is missing.
const struct hiprtc *hiprtc_load(const char **out_reason);

// The reason why sources are not compiled; never "".
const char *hiprtc_reason(void);
