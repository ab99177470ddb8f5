// Occupancy of functions, and the attributes that decide it.
#include "core/backend.h"
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/object/check.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/op.h"

static rnl_status ask(struct function *function, uint32_t threads,
                      size_t shared_size, struct occupancy *out)
{
    const struct backend *backend = function->backend;
    *out = (struct occupancy){0};
    if (!backend->function_occupancy)
        return fail(RNL_ERROR_UNSUPPORTED,
                    "a %s context does not tell what can be resident",
                    backend->api);
    return backend->function_occupancy(function, threads, shared_size, out);
}

// --- Cooperative launches ----------------------------------------------------

rnl_status cooperative_check(struct function *function,
                             const struct op_kernel *kernel)
{
    const rnl_dim3 *grid = &kernel->grid, *block = &kernel->block;
    struct occupancy occupancy;
    uint32_t threads = block->x * block->y * block->z;
    rnl_status status =
        ask(function, threads, kernel->shared_size, &occupancy);
    if (status != RNL_OK)
        return status;
    uint64_t blocks = (uint64_t)grid->x * grid->y;
    if (blocks <= occupancy.cooperative &&
        (blocks *= grid->z) <= occupancy.cooperative)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "grid",
                   "a cooperative launch of %u x %u x %u blocks of %u threads "
                   "is too large: of %s with %zu bytes of dynamic shared "
                   "memory, %llu such blocks can be resident at once",
                   grid->x, grid->y, grid->z, threads, function->name,
                   kernel->shared_size,
                   (unsigned long long)occupancy.cooperative);
}

// --- Occupancy ---------------------------------------------------------------

static rnl_status check_shared(struct function *function, size_t shared_size)
{
    size_t most = atomic_load(&function->shared_most);
    if (shared_size <= most)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "shared_size",
                   "'shared_size' is %zu where %s may have %zu", shared_size,
                   function->name, most);
}

static rnl_status check_threads(const struct function *function,
                                uint32_t threads)
{
    if (threads > 0 && threads <= function->info.max_block_threads)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "block_threads",
                   "'block_threads' is %u where blocks of %s have 1 to %u",
                   threads, function->name, function->info.max_block_threads);
}

rnl_status rnl_function_get_occupancy(rnl_function handle,
                                      uint32_t block_threads,
                                      size_t shared_size,
                                      rnl_occupancy *out_occupancy)
{
    struct function *function = NULL;
    struct occupancy occupancy;
    CALL status = ENTER();
    if (status || (status = check_function(handle, "function", &function)) ||
        (status = check_threads(function, block_threads)) ||
        (status = check_shared(function, shared_size)) ||
        (status = info_check(out_occupancy, sizeof *out_occupancy,
                             "out_occupancy")) ||
        (status = ask(function, block_threads, shared_size, &occupancy)))
        return status;
    const rnl_occupancy answer = {
        .struct_size = sizeof answer,
        .blocks = occupancy.blocks,
        .multiprocessors =
            function->object.context->device->info.multiprocessors,
        .cooperative_blocks = occupancy.cooperative,
    };
    return info_write(out_occupancy, &answer, sizeof answer, "out_occupancy");
}

// The most threads that are resident; of equals the larger block, as the
// vendors' own advice has it.
static rnl_status find_best(struct function *function, size_t shared_size,
                            uint32_t most, uint32_t *out_threads)
{
    uint32_t warp = function->object.context->device->info.warp_size;
    uint32_t step = warp > 0 && warp <= most ? warp : 1, best = 0;
    uint64_t best_resident = 0;
    // A step of one thread would ask a thousand times.
    for (uint32_t size = most - most % step; size > 0;
         size -= step > 1 || size < 16 ? step : size / 8) {
        struct occupancy occupancy;
        rnl_status status = ask(function, size, shared_size, &occupancy);
        if (status != RNL_OK)
            return status;
        uint64_t resident = (uint64_t)occupancy.blocks * size;
        if (resident > best_resident) {
            best_resident = resident;
            best = size;
        }
    }
    if (best == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "shared_size",
                       "no block of %s with %zu bytes of dynamic shared "
                       "memory can be resident", function->name, shared_size);
    *out_threads = best;
    return RNL_OK;
}

rnl_status rnl_function_suggest_block(rnl_function handle, size_t shared_size,
                                      uint32_t most_threads,
                                      uint32_t *out_threads)
{
    struct function *function = NULL;
    CALL status = ENTER();
    if (status || (status = check_function(handle, "function", &function)) ||
        (status = check_shared(function, shared_size)) ||
        (status = check_pointer(out_threads, "out_threads")))
        return status;
    uint32_t most = function->info.max_block_threads;
    if (most_threads > 0 && most_threads < most)
        most = most_threads;
    return find_best(function, shared_size, most, out_threads);
}

// --- Attributes --------------------------------------------------------------

static rnl_status refuse_id(rnl_function_attribute_id id)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "id",
                   "%d is no rnl_function_attribute_id", (int)id);
}

// The device's shared memory minus the static part.
size_t function_shared_limit(const struct function *function)
{
    uint64_t most =
        function->object.context->device->info.shared_per_block_max;
    size_t fixed = function->info.shared_size;
    return fixed < most ? (size_t)(most - fixed) : 0;
}

static rnl_status set_shared(struct function *function, int64_t value)
{
    size_t limit = function_shared_limit(function);
    if (value < 0 || (uint64_t)value > limit)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "value",
                       "%s cannot have %lld bytes of dynamic shared memory, "
                       "only 0 to %zu",
                       function->name, (long long)value, limit);
    atomic_store(&function->shared_most, (size_t)value);
    return RNL_OK;
}

static rnl_status set_carveout(struct function *function, int64_t value)
{
    if (value < RNL_CARVEOUT_DEFAULT || value > 100)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "value",
                       "a carve-out of %lld is neither RNL_CARVEOUT_DEFAULT "
                       "nor 0 to 100 percent", (long long)value);
    struct occupancy ignored;
    int before = atomic_exchange(&function->carveout, (int)value);
    if (!function->backend->function_occupancy)
        return RNL_OK;
    // The backend reads the attribute when asked for occupancy.
    rnl_status status = ask(function, 1, 0, &ignored);
    if (status != RNL_OK)
        atomic_store(&function->carveout, before);
    return status;
}

rnl_status rnl_function_set_attribute(rnl_function handle,
                                      rnl_function_attribute_id id,
                                      int64_t value)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    // Kept, since a released one may be given again to somebody else.
    struct object *object = object_find_ref(handle, OBJECT_FUNCTION);
    if (!object)
        return object_refuse(handle, OBJECT_FUNCTION, "function");
    struct function *function = (struct function *)object;
    switch (id) {
    case RNL_FUNCTION_DYNAMIC_SHARED:
        status = set_shared(function, value);
        break;
    case RNL_FUNCTION_CARVEOUT:
        status = set_carveout(function, value);
        break;
    default:
        status = refuse_id(id);
    }
    object_unref(object);
    return status;
}

rnl_status rnl_function_get_attribute(rnl_function handle,
                                      rnl_function_attribute_id id,
                                      int64_t *out_value)
{
    struct function *function = NULL;
    CALL status = ENTER();
    if (status || (status = check_function(handle, "function", &function)) ||
        (status = check_pointer(out_value, "out_value")))
        return status;
    if (id == RNL_FUNCTION_DYNAMIC_SHARED)
        *out_value = (int64_t)atomic_load(&function->shared_most);
    else if (id == RNL_FUNCTION_CARVEOUT)
        *out_value = atomic_load(&function->carveout);
    else
        return refuse_id(id);
    return RNL_OK;
}
