#include "run.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const element_names[ELEMENT_TYPES] = {
    "int", "unsigned", "long long", "float", "double"};

static const size_t element_sizes[ELEMENT_TYPES] = {4, 4, 8, 4, 8};

// Elements behind the end of `out` that no kernel may touch.
enum { GUARD = 64 };

// Random kernels can be large, and the machine busy.
#define COMPILE_NS UINT64_C(300000000000)

__attribute__((format(printf, 3, 4))) static bool
decide(struct comparison *comparison, enum outcome outcome, const char *format,
       ...)
{
    va_list arguments;
    va_start(arguments, format);
    comparison->verdict.outcome = outcome;
    vsnprintf(comparison->verdict.message, sizeof comparison->verdict.message,
              format, arguments);
    va_end(arguments);
    return outcome == OUTCOME_SAME;
}

static bool failed(struct comparison *comparison, const char *kernel, int side)
{
    return decide(comparison, OUTCOME_FAILED, "%s: side %d: %s", kernel,
                  side + 1, rnl_last_error()->message);
}

// --- Both sides ------------------------------------------------------------

static const char *device_of(const struct side *side)
{
    return side->device ? side->device : "cpu";
}

void comparison_prepare(const struct side sides[SIDES])
{
    char devices[256];
    snprintf(devices, sizeof devices, "%s,%s", device_of(&sides[0]),
             device_of(&sides[1]));
    bool one = !strcmp(device_of(&sides[0]), device_of(&sides[1]));
    setenv("RUNNEL_CACHE_DISABLE", "1", 1);
    setenv("RUNNEL_DEVICES", one ? device_of(&sides[0]) : devices, 1);
}

static bool open_side(struct comparison *comparison, const struct side *side,
                      int number)
{
    char api[16] = "";
    size_t index = 0;
    rnl_context *context = &comparison->contexts[number];
    sscanf(device_of(side), "%15[^:]:%zu", api, &index);
    return rnl_context_open(api, index, NULL, context) == RNL_OK &&
           rnl_context_default_stream(*context,
                                      &comparison->streams[number]) == RNL_OK;
}

static bool compile(struct comparison *comparison, const char *source,
                    const struct side *side, int number)
{
    rnl_module_options options = {.struct_size = sizeof options,
                                  .options = side->options,
                                  .option_count = side->count,
                                  .timeout_ns = COMPILE_NS};
    rnl_status status =
        rnl_module_compile(comparison->contexts[number], source, &options,
                           &comparison->modules[number]);
    if (status == RNL_OK)
        return true;
    const rnl_error *error = rnl_last_error();
    bool invalid = status == RNL_ERROR_COMPILE_FAILED && number == 0;
    return decide(comparison, invalid ? OUTCOME_INVALID : OUTCOME_FAILED,
                  "side %d: %s\n%s", number + 1, error->message,
                  error->log ? error->log : "");
}

bool comparison_open(struct comparison *comparison, const char *source,
                     const struct side sides[SIDES])
{
    *comparison = (struct comparison){0};
    for (int i = 0; i < SIDES; i++) {
        if (!open_side(comparison, &sides[i], i))
            return failed(comparison, "context", i);
        if (!compile(comparison, source, &sides[i], i))
            return false;
    }
    return true;
}

void comparison_close(struct comparison *comparison)
{
    for (int i = 0; i < SIDES; i++) {
        rnl_module_release(comparison->modules[i]);
        rnl_context_release(comparison->contexts[i]);
    }
}

// --- Inputs ----------------------------------------------------------------

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// Element `i` of `in`. Sums of floats are exact; those of ints do not overflow.
static void put_input(void *array, enum element element, size_t i)
{
    uint64_t bits = mix(i);
    int small = (int)(bits % 2001) - 1000;
    switch (element) {
    case ELEMENT_INT:
        ((int *)array)[i] = small;
        break;
    case ELEMENT_UNSIGNED:
        ((uint32_t *)array)[i] = (uint32_t)bits;
        break;
    case ELEMENT_LONG_LONG:
        ((int64_t *)array)[i] = (int64_t)(bits >> 23) - (INT64_C(1) << 40);
        break;
    case ELEMENT_FLOAT:
        ((float *)array)[i] = (float)small / 8.0f;
        break;
    default:
        ((double *)array)[i] = (double)small / 8.0;
    }
}

static void *make_input(const struct launch *launch)
{
    void *input = malloc(launch->count * element_sizes[launch->element]);
    for (size_t i = 0; input && i < launch->count; i++)
        put_input(input, launch->element, i);
    return input;
}

// --- Runs ------------------------------------------------------------------

struct arrays {
    rnl_buffer out[SIDES], in[SIDES];
    void *results[SIDES];
    size_t in_size, out_size;
};

static rnl_status run_side(struct comparison *comparison, int side,
                           const char *kernel, const struct launch *launch,
                           struct arrays *arrays)
{
    rnl_stream stream = comparison->streams[side];
    rnl_buffer out = arrays->out[side];
    rnl_function function = NULL;
    rnl_arg items[3 + MORE_MAX] = {RNL_ARG(out), RNL_ARG(arrays->in[side]),
                                   RNL_ARG((int)launch->count)};
    for (size_t i = 0; i < launch->more_count; i++)
        items[3 + i] = RNL_ARG(launch->more[i]);
    const rnl_args args = {.struct_size = sizeof args,
                           .count = 3 + launch->more_count,
                           .items = items};
    rnl_status status =
        rnl_module_function(comparison->modules[side], kernel, &function);
    if (status == RNL_OK)
        status = rnl_fill_and_wait(stream, out, 0, arrays->out_size, 0xa5, 1);
    if (status == RNL_OK)
        status = rnl_enqueue_function(
            stream, function,
            RNL_LAUNCH(.grid = launch->grid, .block = launch->block,
                       .shared_size = launch->shared),
            &args);
    if (status == RNL_OK)
        status = rnl_copy_from_buffer_and_wait(stream, arrays->results[side],
                                               out, 0, arrays->out_size);
    rnl_function_release(function);
    return status;
}

static bool make_side(struct comparison *comparison, int side,
                      const void *input, struct arrays *arrays)
{
    rnl_context context = comparison->contexts[side];
    return (arrays->results[side] = malloc(arrays->out_size)) &&
           rnl_buffer_create(context, arrays->out_size, NULL,
                             &arrays->out[side]) == RNL_OK &&
           rnl_buffer_create(context, arrays->in_size, NULL,
                             &arrays->in[side]) == RNL_OK &&
           rnl_copy_to_buffer_and_wait(comparison->streams[side],
                                       arrays->in[side], 0, input,
                                       arrays->in_size) == RNL_OK;
}

static bool arrays_make(struct comparison *comparison,
                        const struct launch *launch, struct arrays *arrays)
{
    size_t size = element_sizes[launch->element];
    arrays->in_size = launch->count * size;
    arrays->out_size = (launch->count + GUARD) * size;
    void *input = make_input(launch);
    bool made = input != NULL;
    for (int i = 0; i < SIDES; i++)
        made = made && make_side(comparison, i, input, arrays);
    free(input);
    return made;
}

static void arrays_free(struct arrays *arrays)
{
    for (int i = 0; i < SIDES; i++) {
        rnl_buffer_release(arrays->out[i]);
        rnl_buffer_release(arrays->in[i]);
        free(arrays->results[i]);
    }
}

// --- Comparing -------------------------------------------------------------

// A float's place in the order of all floats.
static int64_t place(const void *array, enum element element, size_t i)
{
    if (element == ELEMENT_DOUBLE) {
        int64_t bits = ((const int64_t *)array)[i];
        return bits < 0 ? INT64_MIN - bits : bits;
    }
    int64_t bits = ((const int32_t *)array)[i];
    return bits < 0 ? INT32_MIN - bits : bits;
}

static double real(const void *array, enum element element, size_t i)
{
    return element == ELEMENT_DOUBLE ? ((const double *)array)[i]
                                     : (double)((const float *)array)[i];
}

// Which NaN an operation gives is nobody's promise.
static bool close_enough(const void *a, const void *b,
                         const struct launch *launch, size_t i)
{
    bool first = isnan(real(a, launch->element, i));
    bool second = isnan(real(b, launch->element, i));
    if (first || second)
        return first && second;
    int64_t x = place(a, launch->element, i);
    int64_t y = place(b, launch->element, i);
    uint64_t distance = x > y ? (uint64_t)x - (uint64_t)y
                              : (uint64_t)y - (uint64_t)x;
    return distance <= launch->ulp;
}

static bool same(const void *a, const void *b, const struct launch *launch,
                 size_t i)
{
    size_t size = element_sizes[launch->element];
    if (!memcmp((const char *)a + i * size, (const char *)b + i * size, size))
        return true;
    if (launch->element != ELEMENT_FLOAT && launch->element != ELEMENT_DOUBLE)
        return false;
    return i < launch->count && close_enough(a, b, launch, i);
}

static void describe_value(char *text, size_t size, const void *array,
                           enum element element, size_t i)
{
    if (element == ELEMENT_INT || element == ELEMENT_UNSIGNED)
        snprintf(text, size, "%d (0x%08x)", ((const int *)array)[i],
                 ((const unsigned *)array)[i]);
    else if (element == ELEMENT_LONG_LONG)
        snprintf(text, size, "%lld", ((const long long *)array)[i]);
    else
        snprintf(text, size, "%.17g", real(array, element, i));
}

static bool differ(struct comparison *comparison, const char *kernel,
                   const struct launch *launch, const struct arrays *arrays,
                   size_t at)
{
    size_t wrong = 0;
    for (size_t i = 0; i < launch->count + GUARD; i++)
        wrong += !same(arrays->results[0], arrays->results[1], launch, i);
    char values[SIDES][64];
    for (int i = 0; i < SIDES; i++)
        describe_value(values[i], sizeof values[i], arrays->results[i],
                       launch->element, at);
    rnl_dim3 grid = launch->grid, block = launch->block;
    return decide(comparison, OUTCOME_DIFFERENT,
                  "%s, grid %ux%ux%u, block %ux%ux%u, shared %zu, n %zu, "
                  "more %d %d, %s: "
                  "element %zu%s is %s on side 1, %s on side 2; "
                  "%zu elements differ",
                  kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                  launch->shared, launch->count, launch->more[0],
                  launch->more[1],
                  element_names[launch->element], at,
                  at < launch->count ? "" : " (behind the end)", values[0],
                  values[1], wrong);
}

static bool compare(struct comparison *comparison, const char *kernel,
                    const struct launch *launch, const struct arrays *arrays)
{
    for (size_t i = 0; i < launch->count + GUARD; i++)
        if (!same(arrays->results[0], arrays->results[1], launch, i))
            return differ(comparison, kernel, launch, arrays, i);
    return decide(comparison, OUTCOME_SAME, "%s", "same");
}

bool comparison_run(struct comparison *comparison, const char *kernel,
                    const struct launch *launch)
{
    struct arrays arrays = {0};
    bool right = arrays_make(comparison, launch, &arrays);
    if (!right)
        failed(comparison, kernel, 0);
    for (int i = 0; right && i < SIDES; i++)
        if (run_side(comparison, i, kernel, launch, &arrays) != RNL_OK)
            right = failed(comparison, kernel, i);
    right = right && compare(comparison, kernel, launch, &arrays);
    arrays_free(&arrays);
    return right;
}
