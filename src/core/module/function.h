// Modules and functions as objects.
#pragma once

#include "core/object/context_object.h"
#include "core/tuning.h"

struct named;
struct source;

struct module {
    struct object object;
    const struct backend *backend;
    void *binary;
    size_t binary_size;
    char *log;
    const struct source *source;  // during module_init; NULL for binaries
    bool loaded;                // else only the binary is of use
    // Why not all names of kernels are known, by module_init; NULL: they are.
    const char *names_lack;
    _Alignas(64) max_align_t native[];
};

// From PACKED_LEAST arguments on launches pack their values; up to PACKED_MOST
// bytes, which lie on the stack.
enum { PACKED_MOST = 1000 };

// The facts of a parameter that a launch needs.
struct packed_parameter {
    uint64_t shape;   // the first one of plain values that fit, with …
    uint32_t kinds;   // … so many kinds in a row; others are checked in full
    uint32_t offset;  // in the packed block
};

static inline uint64_t value_shape(uint32_t kind, uint32_t size)
{
    return (uint64_t)size << 32 | kind;
}

static inline bool packed_parameter_fits(const struct packed_parameter *place,
                                         uint32_t kind, uint32_t size)
{
    return value_shape(kind, size) - place->shape < place->kinds;
}

// Offset of the next parameter in the packed block; the previous parameters end
// at `end`.
size_t parameter_offset(const rnl_parameter *parameter, size_t end);

struct function {
    struct object object;
    // Fields that a launch reads, in the cache line in which the object ends.
    size_t parameter_count;
    struct packed_parameter *packed_parameters;       // one for each parameter
    _Atomic size_t shared_most; // dynamic, that a launch may ask for
    rnl_dim3 most_grid, most_block;  // the device's limits
    uint32_t most_threads;      // of a block
    bool is_usual;              // static shared memory fits, and the source
                                // asks for no cluster
    bool takes_plain;           // each is a pointer or a number
    bool packs;                 // launches have them packed (op.h)
    const struct backend *backend;
    struct module *module;      // referenced; NULL for native functions
    char *name, *symbol;        // the name is the object's label
    rnl_parameter *parameters;  // `type` texts are owned, too
    // Size and alignment (a power of two, at most 64) of the packed block.
    size_t values_size, values_alignment;
    rnl_function_info info;     // pointers in it point at the fields above
    _Atomic int carveout;       // percent; RNL_CARVEOUT_DEFAULT: as it likes
    struct named *_Atomic named;    // where the context's cache has it
    rnl_native_fn native_fn;    // NULL unless native
    rnl_native_flags native_flags;
    void *user_data;
    _Alignas(64) max_align_t native[];
};

_Static_assert(offsetof(struct function, backend) <= 128,
               "what a launch looks at fits into that line");

static inline void *module_native(struct module *object)
{
    return object->native;
}

static inline void *function_native(struct function *object)
{
    return object->native;
}

OBJECT_CHECK_HAZARD(module, module, OBJECT_MODULE, HAZARD_CODE)
OBJECT_CHECK_HAZARD(function, function, OBJECT_FUNCTION, HAZARD_CODE)
