// libamdhip64 over libcuda: functions that both have in the same shape jump to
// libcuda's. A stronger definition in over_cuda.c goes before one of these.
#include "over_cuda.h"

#define FUNCTION(name, parameters)                                      \
    driver_##name##_fn *over_##name __attribute__((visibility("hidden"))); \
    JUMP(fake_##name, name)
#define JUMP(symbol, name)                                  \
    __asm__(".text\n\t.weak " #symbol "\n\t.type " #symbol  \
            ", @function\n" #symbol ":\n\tendbr64\n\t"        \
            "jmp *over_" #name "(%rip)\n\t.size " #symbol     \
            ", . - " #symbol);
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION

#define SYMBOL(name, vendor, suffix, since, need, why) JUMP(vendor, name)
#include "backends/hip/symbols.def"
