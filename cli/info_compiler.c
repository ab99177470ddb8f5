// `runnel info`: the kernel compiler of the cpu, and the cache.
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "output.h"

static const char source[] =
    "extern \"C\" __global__ void probe(float *values)\n"
    "{\n"
    "    values[blockIdx.x * blockDim.x + threadIdx.x] *= 2;\n"
    "}\n";

// The facts that the command shows. Strings that are not known are "".
struct facts {
    rnl_compiler_info compiler;
    rnl_cache_info cache;
    uint64_t cache_size;         // bytes of all entries
    const char *tier, *reason;   // of a small kernel; as long as the function
    char problem[2048];          // why there is no compiler, or no tier
    rnl_context context;
    rnl_function function;
};

// --- Asking -----------------------------------------------------------------

static rnl_status ask_tier(struct facts *facts)
{
    rnl_function_info kernel = {.struct_size = sizeof kernel};
    rnl_status status = rnl_function_compile(
        facts->context, source, "probe", RNL_MODULE_OPTIONS(.name = "probe.cu"),
        &facts->function);
    if (status == RNL_OK)
        status = rnl_function_get_info(facts->function, &kernel);
    if (status == RNL_OK) {
        facts->tier = kernel.tier;
        facts->reason = kernel.tier_reason;
    }
    return status;
}

// A failure is a fact that the command shows, so the command succeeds.
static void ask_compiler(struct facts *facts)
{
    rnl_device device;
    rnl_status status = rnl_device_get("cpu", 0, &device);
    if (status == RNL_OK)
        status = rnl_context_create(device, NULL, &facts->context);
    if (status == RNL_OK)
        status = rnl_compiler_get_info(facts->context, &facts->compiler);
    if (status == RNL_OK)
        status = ask_tier(facts);
    if (status != RNL_OK)
        snprintf(facts->problem, sizeof facts->problem, "%s",
                 rnl_last_error()->message);
}

static rnl_status add_size(const rnl_cache_entry *entry, void *user_data)
{
    *(uint64_t *)user_data += entry->size;
    return RNL_OK;
}

static rnl_status ask(struct facts *facts)
{
    facts->compiler.struct_size = sizeof facts->compiler;
    facts->cache.struct_size = sizeof facts->cache;
    facts->tier = facts->reason = "";
    ask_compiler(facts);
    rnl_status status = rnl_cache_get_info(&facts->cache);
    return status ? status : rnl_cache_visit(add_size, &facts->cache_size);
}

// --- Showing ----------------------------------------------------------------

static void print_known(const char *name, const char *text)
{
    if (text[0])
        print_row(name, "%s", text);
}

static void print_facts(const struct facts *facts)
{
    char size[UNIT_TEXT_SIZE], limit[UNIT_TEXT_SIZE];
    const rnl_cache_info *cache = &facts->cache;
    print_painted(PAINT_TITLE, "Compiler of cpu");
    putchar('\n');
    print_known("Program", facts->compiler.path);
    print_known("Version", facts->compiler.version);
    print_known("Target", facts->compiler.target);
    if (facts->tier[0])
        print_row("Tier of a small kernel", "%s%s%s", facts->tier,
                  facts->reason[0] ? ": " : "", facts->reason);
    if (facts->problem[0])
        print_wrapped(facts->problem, 2);
    print_row("Cache", "%s", cache->path[0] ? cache->path : "none");
    print_known("  not used", cache->reason);
    print_row("  size", "%s of %s", unit_bytes(facts->cache_size, size),
              unit_bytes(cache->size_limit, limit));
    putchar('\n');
}

static void json_facts(struct json *json, const struct facts *facts)
{
    json_begin(json, "compiler", '{');
    json_string(json, "path", facts->compiler.path);
    json_string(json, "version", facts->compiler.version);
    json_string(json, "target", facts->compiler.target);
    json_string(json, "tier", facts->tier);
    json_string(json, "tier_reason", facts->reason);
    json_string(json, "problem", facts->problem);
    json_begin(json, "cache", '{');
    json_string(json, "path", facts->cache.path);
    json_string(json, "reason", facts->cache.reason);
    json_unsigned(json, "size", facts->cache_size);
    json_unsigned(json, "size_limit", facts->cache.size_limit);
    json_end(json, '}');
    json_end(json, '}');
}

int info_compiler(struct json *json)
{
    struct facts *facts = calloc(1, sizeof *facts);
    if (!facts) {
        complain("there is no memory left");
        return EXIT_FAILED;
    }
    rnl_status status = ask(facts);
    int code = status == RNL_OK ? EXIT_OK : complain_failure(status);
    if (json)
        json_facts(json, facts);
    else
        print_facts(facts);
    rnl_function_release(facts->function);
    rnl_context_release(facts->context);
    free(facts);
    return code;
}
