// hiprtc: the vendor's compiler. It may end the process that calls it, so only
// the program runnel-hip-cc does.
#pragma once

#include <stddef.h>

struct hiprtc_place {
    char path[1024];    // for dlopen
    char comgr[1024];   // the library by which this version compiles
};

// NULL with the reason if there is no hiprtc. Looks for it once.
const struct hiprtc_place *hiprtc_find(const char **out_reason);
