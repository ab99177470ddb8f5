// `runnel check`: does on each device what every program does, step by step,
// and says PASS or FAIL.
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "json.h"
#include "output.h"
#include "parse.h"

enum { BLOCK = 256, GRID = 64, COUNT = BLOCK * GRID };

// Turns every block around through shared memory, so that a lost barrier, a
// lost block and a lost thread all show.
static const char source[] =
    "extern \"C\" __global__ void turn(unsigned *values, unsigned factor)\n"
    "{\n"
    "    __shared__ unsigned tile[256];\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    tile[threadIdx.x] = values[i];\n"
    "    __syncthreads();\n"
    "    values[i] = tile[blockDim.x - 1 - threadIdx.x] * factor;\n"
    "}\n";

static const uint32_t factor = 2654435761u;

// The objects with which a device is checked.
struct check {
    rnl_device device;
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_function function;
    uint32_t *values;
    rnl_function_info kernel;  // once compiled
    char problem[128];  // what was wrong, when no Runnel call failed
};

// --- The steps --------------------------------------------------------------

static rnl_status step_init(struct check *check)
{
    rnl_status status =
        rnl_context_create(check->device, NULL, &check->context);
    if (status == RNL_OK)
        status = rnl_context_default_stream(check->context, &check->stream);
    return status;
}

static rnl_status step_allocate(struct check *check)
{
    return rnl_buffer_create(check->context, COUNT * sizeof(uint32_t), NULL,
                             &check->buffer);
}

static rnl_status step_copy(struct check *check)
{
    for (uint32_t i = 0; i < COUNT; i++)
        check->values[i] = i;
    return rnl_copy_to_buffer_and_wait(check->stream, check->buffer, 0,
                                       check->values,
                                       COUNT * sizeof(uint32_t));
}

static rnl_status step_compile(struct check *check)
{
    rnl_status status = rnl_function_compile(
        check->context, source, "turn", RNL_MODULE_OPTIONS(.name = "check.cu"),
        &check->function);
    check->kernel.struct_size = sizeof check->kernel;
    return status ? status
                  : rnl_function_get_info(check->function, &check->kernel);
}

static rnl_status step_launch(struct check *check)
{
    rnl_status status = rnl_enqueue_function(
        check->stream, check->function,
        RNL_LAUNCH(.grid = {GRID}, .block = {BLOCK}),
        RNL_ARGS(check->buffer, factor));
    if (status == RNL_OK)
        status = rnl_stream_synchronize(check->stream, RNL_FOREVER);
    return status;
}

static rnl_status step_verify(struct check *check)
{
    rnl_status status = rnl_copy_from_buffer_and_wait(
        check->stream, check->values, check->buffer, 0,
        COUNT * sizeof(uint32_t));
    for (uint32_t i = 0; status == RNL_OK && i < COUNT; i++) {
        uint32_t from = i - i % BLOCK + BLOCK - 1 - i % BLOCK;
        uint32_t expected = from * factor;
        if (check->values[i] == expected)
            continue;
        snprintf(check->problem, sizeof check->problem,
                 "Element %" PRIu32 " is %" PRIu32 ", it should be %" PRIu32
                 ".", i, check->values[i], expected);
        return RNL_ERROR_INTERNAL;
    }
    return status;
}

static const struct step {
    const char *name;
    rnl_status (*run)(struct check *check);
} steps[] = {
    {"init", step_init},       {"allocate", step_allocate},
    {"copy", step_copy},       {"compile", step_compile},
    {"launch", step_launch},   {"verify", step_verify},
};

#define STEP_COUNT (sizeof steps / sizeof steps[0])

// --- The report -------------------------------------------------------------

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Advice for the user, or NULL.
static const char *advice(rnl_status status, const char *api)
{
    if (status == RNL_ERROR_COMPILER_UNAVAILABLE && !strcmp(api, "cpu"))
        return "Kernels for the cpu need runnel-cc, which comes with Runnel: "
               "RUNNEL_CC names it where it lies elsewhere. A Runnel that was "
               "built without Debian's libclang-19-dev and liblld-19-dev has "
               "none.";
    if (status == RNL_ERROR_COMPILER_UNAVAILABLE)
        return "Kernels for this device need the vendor's run-time compiler: "
               "install NVRTC of the CUDA toolkit, or HIPRTC of ROCm.";
    if (status == RNL_ERROR_COMPILER_CRASHED)
        return "RUNNEL_LOG=debug shows what is called.";
    return NULL;
}

static void json_step(struct json *json, const char *name, rnl_status status,
                      uint64_t ns, const struct check *check)
{
    json_begin(json, NULL, '{');
    json_string(json, "step", name);
    json_bool(json, "ok", status == RNL_OK);
    json_unsigned(json, "time_ns", ns);
    if (status != RNL_OK) {
        const rnl_error *error = rnl_last_error();
        bool own = check->problem[0];
        json_string(json, "status", rnl_status_name(status));
        json_string(json, "message", own ? check->problem : error->message);
        json_string(json, "log", !own && error->log ? error->log : "");
    }
    json_end(json, '}');
}

static void print_step(const char *name, rnl_status status, uint64_t ns)
{
    char time[UNIT_TEXT_SIZE];
    printf("  %-10s", name);
    if (status == RNL_OK)
        print_painted(PAINT_GOOD, "%-8s", "ok");
    else
        print_painted(PAINT_BAD, "%-8s", "failed");
    printf("%10s\n", unit_time(ns, time));
}

static void print_details(rnl_status status, const struct check *check,
                          const char *api)
{
    const rnl_error *error = rnl_last_error();
    if (check->problem[0]) {
        print_wrapped(check->problem, 4);
        return;
    }
    print_wrapped(error->message, 4);
    if (error->native_text && error->native_text[0])
        print_wrapped(error->native_text, 4);
    write_log(stdout, error->log);
    const char *help = advice(status, api);
    if (help)
        print_wrapped(help, 4);
}

// --- The command ------------------------------------------------------------

static void check_free(struct check *check)
{
    rnl_function_release(check->function);
    rnl_buffer_release(check->buffer);
    rnl_context_release(check->context);
    free(check->values);
}

// Shows the tier of the kernel, on devices whose backend has tiers.
static void show_tier(const rnl_function_info *kernel, struct json *json)
{
    if (json) {
        json_string(json, "tier", kernel->tier ? kernel->tier : "");
        json_string(json, "tier_reason",
                    kernel->tier ? kernel->tier_reason : "");
    } else if (kernel->tier) {
        printf("  %-10s%s%s%s\n", "tier", kernel->tier,
               kernel->tier_reason[0] ? ": " : "", kernel->tier_reason);
    }
}

// All steps up to the first that fails; true when none does.
static bool run_steps(struct check *check, struct json *json, const char *api)
{
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (status != RNL_OK) {
            if (!json)
                printf("  %-10sskipped\n", steps[i].name);
            continue;
        }
        uint64_t start = now_ns();
        status = steps[i].run(check);
        uint64_t ns = now_ns() - start;
        if (json) {
            json_step(json, steps[i].name, status, ns, check);
            continue;
        }
        print_step(steps[i].name, status, ns);
        if (status != RNL_OK)
            print_details(status, check, api);
    }
    return status == RNL_OK;
}

static bool check_device(rnl_device device, struct json *json)
{
    struct check check = {.device = device};
    rnl_device_info info = {.struct_size = sizeof info};
    char name[32];
    check.values = malloc(COUNT * sizeof(uint32_t));
    if (!check.values) {
        complain("there is no memory left");
        return false;
    }
    rnl_status status = rnl_device_get_info(device, &info);
    if (status != RNL_OK) {
        complain_failure(status);
        free(check.values);
        return false;
    }
    device_name(&info, name, sizeof name);
    if (json) {
        json_begin(json, NULL, '{');
        json_string(json, "device", name);
        json_string(json, "name", info.name);
        json_begin(json, "steps", '[');
    } else {
        print_painted(PAINT_TITLE, "%s", name);
        printf("  %s\n", info.name);
    }
    bool pass = run_steps(&check, json, info.api);
    if (json) {
        json_end(json, ']');
    }
    show_tier(&check.kernel, json);
    if (json) {
        json_bool(json, "pass", pass);
        json_end(json, '}');
    }
    check_free(&check);
    return pass;
}

// The device called `name`, or every one for NULL.
static bool check_devices(const char *name, struct json *json)
{
    char api[DEVICE_API_SIZE];
    size_t first = 0, count = 1;
    rnl_status status = RNL_OK;
    if (name)
        parse_device(name, api, &first);
    else
        status = rnl_device_count(NULL, &count);
    if (status == RNL_OK && count == 0)
        complain("no device is present; 'runnel info' says why");
    bool pass = status == RNL_OK && count > 0;
    for (size_t i = 0; status == RNL_OK && i < count; i++) {
        rnl_device device;
        status = rnl_device_get(name ? api : NULL, first + i, &device);
        if (status == RNL_OK)
            pass &= check_device(device, json);
    }
    if (status != RNL_OK)
        complain_failure(status);
    return pass && status == RNL_OK;
}

static int run_check(const char *device, bool as_json)
{
    struct json json = {0};
    if (!as_json) {
        bool pass = check_devices(device, NULL);
        print_painted(pass ? PAINT_GOOD : PAINT_BAD, pass ? "PASS" : "FAIL");
        putchar('\n');
        return pass ? EXIT_OK : EXIT_FAILED;
    }
    json_begin(&json, NULL, '{');
    json_begin(&json, "devices", '[');
    bool pass = check_devices(device, &json);
    json_end(&json, ']');
    json_bool(&json, "pass", pass);
    json_end(&json, '}');
    return pass ? EXIT_OK : EXIT_FAILED;
}

// Asks for the device once before the report starts: a name that is wrong is
// no failed check.
static int check_name(const char *name)
{
    char api[DEVICE_API_SIZE];
    size_t index;
    rnl_device device;
    const char *problem = parse_device(name, api, &index);
    if (problem)
        return complain_usage("device '%s' %s", name, problem);
    rnl_status status = rnl_device_get(api, index, &device);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

int command_check(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'},
        {"device", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *device = NULL;
    bool as_json = false;
    int letter;
    while ((letter = next_option(argc, argv, ":jd:h", long_options)) != -1) {
        switch (letter) {
        case 'j': as_json = true; break;
        case 'd': device = optarg; break;
        case 'h': return help_print("check");
        default: return EXIT_USAGE;
        }
    }
    if (optind < argc)
        return complain_usage("'%s' is not expected here", argv[optind]);
    int code = device ? check_name(device) : EXIT_OK;
    return code ? code : run_check(device, as_json);
}
