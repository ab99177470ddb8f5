// The symbols that a cpu object may import from the loading process: functions
// of numbers and memory, which compilers call themselves or the prelude
// declares. A kernel that names another function, such as `system`, does not
// get the host's. runnel-cc checks the linked object, the library checks the
// loaded object.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Functions of doubles; those of float and long double end in f and l.
static const char *const import_math[] = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil",
    "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp10", "exp2", "expm1",
    "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "frexp", "hypot",
    "ilogb", "j0", "j1", "jn", "ldexp", "lgamma", "llrint", "llround", "log",
    "log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nan",
    "nearbyint", "nextafter", "pow", "remainder", "remquo", "rint", "round",
    "roundeven", "scalbln", "scalbn", "sin", "sincos", "sinh", "sqrt", "tan",
    "tanh", "tgamma", "trunc", "y0", "y1", "yn"};

// Functions of which the C library also has vector versions.
static const char *const import_vectors[] = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos",
    "cosh", "erf", "erfc", "exp", "exp10", "exp2", "expm1", "hypot", "log",
    "log10", "log1p", "log2", "pow", "sin", "sincos", "sinh", "tan", "tanh"};

static const char *const import_others[] = {
    "memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen", "abs", "labs",
    "llabs",
    // Symbols of the C library for compiled code: thread-local memory, the
    // stack protector, and the processor's features.
    "__tls_get_addr", "__stack_chk_fail", "__getauxval"};

static inline bool import_is_listed(const char *const *names, size_t count,
                                    const char *name, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], name, size) == 0 && !names[i][size])
            return true;
    return false;
}

static inline bool import_is_math(const char *name, size_t size)
{
    size_t count = sizeof import_math / sizeof *import_math;
    bool ends = size > 0 && (name[size - 1] == 'f' || name[size - 1] == 'l');
    return import_is_listed(import_math, count, name, size) ||
           (ends && import_is_listed(import_math, count, name, size - 1));
}

// A name may have its version behind '@'.
static inline bool import_is_allowed(const char *name)
{
    size_t size = strcspn(name, "@");
    // Initialisers of dynamic shared memory, which there never are.
    if (strncmp(name, "_ZTH", 4) == 0)
        return true;
    // Vector functions: "_ZGVdN4vv_pow".
    if (strncmp(name, "_ZGV", 4) == 0) {
        size_t start = 4 + strcspn(name + 4, "_");
        if (start + 1 >= size)
            return false;
        name += start + 1, size -= start + 1;
        return import_is_listed(
            import_vectors, sizeof import_vectors / sizeof *import_vectors,
            name, size - (size > strlen("erf") && name[size - 1] == 'f'));
    }
    return import_is_math(name, size) ||
           import_is_listed(import_others,
                            sizeof import_others / sizeof *import_others, name,
                            size);
}
