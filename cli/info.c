// `runnel info`: every device with its limits, every api without a device and
// why, the kernel compiler of the cpu, and the environment in force. Opens no
// GPU unless asked for features.
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "cli.h"
#include "json.h"
#include "output.h"

extern char **environ;

struct info_options {
    bool json, list, features;
};

// Their numbers are public, their names are ours.
static const struct {
    rnl_feature feature;
    const char *name;
} features[] = {
    {RNL_FEATURE_COMPILE, "compile"},
    {RNL_FEATURE_NATIVE_FUNCTIONS, "native functions"},
    {RNL_FEATURE_MANAGED_MEMORY, "managed memory"},
    {RNL_FEATURE_ZERO_COPY_MAP, "zero-copy map"},
    {RNL_FEATURE_CLUSTERS, "clusters"},
    {RNL_FEATURE_COOPERATIVE_LAUNCH, "cooperative launch"},
    {RNL_FEATURE_PRIORITIES, "priorities"},
    {RNL_FEATURE_EVENT_TIMING, "event timing"},
    {RNL_FEATURE_PROMISES, "promises"},
    {RNL_FEATURE_INTERPROCESS, "interprocess"},
    {RNL_FEATURE_CAPTURE, "capture"},
    {RNL_FEATURE_GRAPHS, "graphs"},
    {RNL_FEATURE_GRAPH_SWITCH, "switch nodes"},
    {RNL_FEATURE_GRAPH_BODIES, "host work in bodies"},
    {RNL_FEATURE_MEMORY_OPERATIONS, "memory operations"},
    {RNL_FEATURE_BATCHED_STREAMS, "batched streams"},
    {RNL_FEATURE_PEER_ACCESS, "peer access"},
    {RNL_FEATURE_MEMORY_HINTS, "memory hints"},
    {RNL_FEATURE_NATIVE_HANDLES, "native handles"},
    {RNL_FEATURE_HOST_FUNCTIONS, "host functions"},
    {RNL_FEATURE_CANCEL, "cancelling"},
    {RNL_FEATURE_KERNEL_LIMIT, "kernel limit"},
    {RNL_FEATURE_INTERPROCESS_MEMORY, "interprocess memory"},
};

#define FEATURE_COUNT (sizeof features / sizeof features[0])

// "RUNNEL_" variables that the libraries read.
static const char *const known_variables[] = {
    "RUNNEL_DEVICES",   "RUNNEL_CPU_DEVICES", "RUNNEL_THREADS",
    "RUNNEL_SPIN_US",   "RUNNEL_LOG",         "RUNNEL_CC",
    "RUNNEL_CUDA",      "RUNNEL_NVRTC",
    "RUNNEL_HIP",       "RUNNEL_HIPRTC",      "RUNNEL_HIP_CC",
    "RUNNEL_CACHE_DIR", "RUNNEL_CACHE_DISABLE",
    "RUNNEL_BLOCKING",  "RUNNEL_CONTAIN",     "RUNNEL_SPECIALISE",
    "RUNNEL_CACHE_SIZE", "RUNNEL_KERNEL_LIMIT",
    "RUNNEL_MPI",       "RUNNEL_NCCL",        "RUNNEL_RCCL",
};

// --- What both forms print --------------------------------------------------

static void uuid_text(const uint8_t uuid[16], char text[40])
{
    bool known = false;
    for (int i = 0; i < 16; i++)
        known |= uuid[i] != 0;
    char *next = text;
    *next = 0;
    for (int i = 0; known && i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        next += snprintf(next, 4, "%s%02x", dash ? "-" : "", uuid[i]);
    }
}

// The next "RUNNEL_…=value" of the environment from `*index` on, or NULL. The
// library believes none (base/env.h) in a program with more rights.
static const char *next_variable(size_t *index)
{
    while (!getauxval(AT_SECURE) && environ[*index]) {
        const char *variable = environ[(*index)++];
        if (strncmp(variable, "RUNNEL_", 7) == 0 && strchr(variable, '='))
            return variable;
    }
    return NULL;
}

static bool is_known(const char *variable, size_t length)
{
    size_t count = sizeof known_variables / sizeof known_variables[0];
    for (size_t i = 0; i < count; i++)
        if (strlen(known_variables[i]) == length &&
            memcmp(known_variables[i], variable, length) == 0)
            return true;
    return false;
}

// --- For people -------------------------------------------------------------

static void print_dim3(const char *name, rnl_dim3 dim)
{
    print_row(name, "%u x %u x %u", dim.x, dim.y, dim.z);
}

// 0: the device does not tell.
static const char *bytes_text(uint64_t bytes, char text[UNIT_TEXT_SIZE])
{
    return bytes ? unit_bytes(bytes, text) : "unknown";
}

static void print_bytes(const char *name, uint64_t bytes)
{
    char text[UNIT_TEXT_SIZE];
    print_row(name, "%s", bytes_text(bytes, text));
}

static void print_identity(const rnl_device_info *info)
{
    char text[40], clock[UNIT_TEXT_SIZE];
    print_row("Name", "%s", info->name[0] ? info->name : "unknown");
    uuid_text(info->uuid, text);
    print_row("UUID", "%s", text[0] ? text : "unknown");
    if (info->pci[0])
        print_row("PCI", "%s", info->pci);
    if (info->compute_major)
        print_row("Compute capability", "%d.%d", info->compute_major,
                  info->compute_minor);
    print_row("Driver version", "%d", info->driver_version);
    print_bytes("Memory", info->memory_size);
    print_row("Multiprocessors", "%u", info->multiprocessors);
    print_row("Clock", "%s", unit_clock(info->clock_khz, clock));
}

static void print_limits(const rnl_device_info *info)
{
    print_row("Warp size", "%u", info->warp_size);
    print_row("Threads of a block", "at most %u", info->max_block_threads);
    print_dim3("Largest block", info->max_block);
    print_dim3("Largest grid", info->max_grid);
    print_row("Largest cluster", "%u block%s", info->max_cluster_blocks,
              info->max_cluster_blocks == 1 ? "" : "s");
    print_bytes("Shared per block", info->shared_per_block);
    print_bytes("  with opt-in", info->shared_per_block_max);
    print_bytes("Constant memory", info->constant_size);
    print_bytes("L1 cache", info->l1_size);
    print_bytes("L2 cache", info->l2_size);
    print_bytes("L3 cache", info->l3_size);
    print_row("Stream priorities", "%d (greatest) to %d (least)",
              info->priority_greatest, info->priority_least);
}

static int print_features(rnl_device device)
{
    rnl_context context;
    rnl_status status = rnl_context_create(device, NULL, &context);
    if (status != RNL_OK)
        return complain_failure(status);
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const char *reason = "";
        status = rnl_context_supports(context, features[i].feature, &reason);
        print_row(i ? "" : "Features", "%-20s%s%s%s", features[i].name,
                  status == RNL_OK ? "yes" : "no",
                  status != RNL_OK && reason[0] ? ": " : "",
                  status != RNL_OK ? reason : "");
    }
    rnl_context_release(context);
    return EXIT_OK;
}

static void print_line(const rnl_device_info *info)
{
    char name[32], memory[UNIT_TEXT_SIZE];
    device_name(info, name, sizeof name);
    printf("%-8s  %s, %u multiprocessor%s, %s\n", name, info->name,
           info->multiprocessors, info->multiprocessors == 1 ? "" : "s",
           bytes_text(info->memory_size, memory));
}

static int print_device(rnl_device device, const rnl_device_info *info,
                        const struct info_options *options)
{
    if (options->list) {
        print_line(info);
        return EXIT_OK;
    }
    char name[32];
    device_name(info, name, sizeof name);
    print_painted(PAINT_TITLE, "Device %s", name);
    putchar('\n');
    print_identity(info);
    print_limits(info);
    int code = options->features ? print_features(device) : EXIT_OK;
    putchar('\n');
    return code;
}

static void print_absent(const char *api, const char *reason)
{
    print_painted(PAINT_TITLE, "No device of %s", api);
    putchar('\n');
    print_wrapped(reason[0] ? reason : "No reason is known.", 2);
    putchar('\n');
}

static void print_environment(void)
{
    print_painted(PAINT_TITLE, "Environment");
    putchar('\n');
    size_t index = 0;
    bool any = false;
    const char *variable;
    while ((variable = next_variable(&index))) {
        size_t length = strcspn(variable, "=");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, variable);
        print_row(name, "%s%s", variable + length + 1,
                  is_known(variable, length) ? "" : "  (Runnel has no such "
                                                    "variable)");
        any = true;
    }
    if (!any)
        printf(getauxval(AT_SECURE)
                   ? "  not believed: this program has more rights than who "
                     "started it\n"
                   : "  no RUNNEL_ variable is set\n");
}

// --- For programs -----------------------------------------------------------

static void json_identity(struct json *json, const rnl_device_info *info)
{
    char name[32], uuid[40];
    device_name(info, name, sizeof name);
    uuid_text(info->uuid, uuid);
    json_string(json, "device", name);
    json_string(json, "api", info->api);
    json_unsigned(json, "index", info->index);
    json_string(json, "name", info->name);
    json_string(json, "uuid", uuid);
    json_string(json, "pci", info->pci);
    json_signed(json, "compute_major", info->compute_major);
    json_signed(json, "compute_minor", info->compute_minor);
    json_signed(json, "driver_version", info->driver_version);
    json_unsigned(json, "memory_size", info->memory_size);
}

static void json_limits(struct json *json, const rnl_device_info *info)
{
    json_unsigned(json, "multiprocessors", info->multiprocessors);
    json_unsigned(json, "clock_khz", info->clock_khz);
    json_unsigned(json, "warp_size", info->warp_size);
    json_unsigned(json, "max_block_threads", info->max_block_threads);
    json_dim3(json, "max_block", info->max_block);
    json_dim3(json, "max_grid", info->max_grid);
    json_unsigned(json, "max_cluster_blocks", info->max_cluster_blocks);
    json_unsigned(json, "shared_per_block", info->shared_per_block);
    json_unsigned(json, "shared_per_block_max", info->shared_per_block_max);
    json_unsigned(json, "constant_size", info->constant_size);
    json_unsigned(json, "l1_size", info->l1_size);
    json_unsigned(json, "l2_size", info->l2_size);
    json_unsigned(json, "l3_size", info->l3_size);
    json_signed(json, "priority_least", info->priority_least);
    json_signed(json, "priority_greatest", info->priority_greatest);
}

static int json_features(struct json *json, rnl_device device)
{
    rnl_context context;
    rnl_status status = rnl_context_create(device, NULL, &context);
    if (status != RNL_OK)
        return complain_failure(status);
    json_begin(json, "features", '[');
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const char *reason = "";
        status = rnl_context_supports(context, features[i].feature, &reason);
        json_begin(json, NULL, '{');
        json_string(json, "name", features[i].name);
        json_bool(json, "supported", status == RNL_OK);
        json_string(json, "reason", status == RNL_OK ? "" : reason);
        json_end(json, '}');
    }
    json_end(json, ']');
    rnl_context_release(context);
    return EXIT_OK;
}

static int json_device(struct json *json, rnl_device device,
                       const rnl_device_info *info,
                       const struct info_options *options)
{
    json_begin(json, NULL, '{');
    json_identity(json, info);
    json_limits(json, info);
    int code = options->features ? json_features(json, device) : EXIT_OK;
    json_end(json, '}');
    return code;
}

static void json_environment(struct json *json)
{
    json_begin(json, "environment", '{');
    size_t index = 0;
    const char *variable;
    while ((variable = next_variable(&index))) {
        char name[64];
        size_t length = strcspn(variable, "=");
        snprintf(name, sizeof name, "%.*s", (int)length, variable);
        json_string(json, name, variable + length + 1);
    }
    json_end(json, '}');
}

// --- The command ------------------------------------------------------------

// Every device, in the order of preference.
static int show_devices(struct json *json, const struct info_options *options)
{
    size_t count;
    rnl_status status = rnl_device_count(NULL, &count);
    int code = EXIT_OK;
    for (size_t i = 0; status == RNL_OK && i < count; i++) {
        rnl_device device;
        rnl_device_info info = {.struct_size = sizeof info};
        status = rnl_device_get(NULL, i, &device);
        if (status == RNL_OK)
            status = rnl_device_get_info(device, &info);
        if (status != RNL_OK)
            break;
        int one = json ? json_device(json, device, &info, options)
                       : print_device(device, &info, options);
        code = one ? one : code;
    }
    return status == RNL_OK ? code : complain_failure(status);
}

// One api, if it has no device.
static int show_api(struct json *json, const char *api)
{
    const char *reason = "";
    size_t count = 0;
    rnl_status status = rnl_device_count(api, &count);
    if (status == RNL_OK)
        status = rnl_api_reason(api, &reason);
    if (status != RNL_OK)
        return complain_failure(status);
    if (count > 0)
        return EXIT_OK;
    if (!json) {
        print_absent(api, reason);
        return EXIT_OK;
    }
    json_begin(json, NULL, '{');
    json_string(json, "api", api);
    json_string(json, "reason", reason);
    json_end(json, '}');
    return EXIT_OK;
}

// Every api that has no device, also those that this library was built without.
static int show_absent(struct json *json)
{
    static const char *const known[] = {"cuda", "hip"};
    bool listed[] = {false, false};
    const char *api;
    int code = EXIT_OK;
    for (size_t i = 0; rnl_api_name(i, &api) == RNL_OK && !code; i++) {
        for (size_t k = 0; k < 2; k++)
            listed[k] |= strcmp(api, known[k]) == 0;
        code = show_api(json, api);
    }
    for (size_t k = 0; k < 2 && !code; k++)
        if (!listed[k])
            code = show_api(json, known[k]);
    return code;
}

static int show_json(const struct info_options *options)
{
    struct json json = {0};
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", rnl_version() / 10000,
             rnl_version() / 100 % 100, rnl_version() % 100);
    json_begin(&json, NULL, '{');
    json_string(&json, "version", version);
    json_begin(&json, "devices", '[');
    int code = show_devices(&json, options);
    json_end(&json, ']');
    json_begin(&json, "absent", '[');
    int absent_code = show_absent(&json);
    json_end(&json, ']');
    int compiler_code = info_compiler(&json);
    json_environment(&json);
    json_end(&json, '}');
    return code ? code : absent_code ? absent_code : compiler_code;
}

static int show_text(const struct info_options *options)
{
    int code = show_devices(NULL, options);
    if (options->list)
        return code;
    int absent_code = show_absent(NULL);
    int compiler_code = info_compiler(NULL);
    print_environment();
    return code ? code : absent_code ? absent_code : compiler_code;
}

int command_info(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"features", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct info_options options = {0};
    int letter;
    while ((letter = next_option(argc, argv, ":jlfh", long_options)) != -1) {
        switch (letter) {
        case 'j': options.json = true; break;
        case 'l': options.list = true; break;
        case 'f': options.features = true; break;
        case 'h': return help_print("info");
        default: return EXIT_USAGE;
        }
    }
    if (optind < argc)
        return complain_usage("'%s' is not expected here", argv[optind]);
    return options.json ? show_json(&options) : show_text(&options);
}
