// The symbols of libamdhip64 that do nothing and say success, but for those of
// still_hip.c. The build makes the list from the hip backend's symbols.def.
#define NOTHING(vendor)                     \
    __attribute__((weak)) int vendor(void); \
    int vendor(void)                        \
    {                                       \
        return 0;                           \
    }
#include "still_hip_symbols.inc"
