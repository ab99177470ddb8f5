// `runnel run --list`: the kernels of a file, and what they take.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"
#include "output.h"
#include "run.h"

static const char *kind_name(const rnl_parameter *parameter)
{
    switch (parameter->kind) {
    case RNL_VALUE_POINTER: return "pointer";
    case RNL_VALUE_INTEGER: return "integer";
    case RNL_VALUE_FLOAT: return "float";
    case RNL_VALUE_STRUCT: return "struct";
    default: return "value";
    }
}

// --- Text -------------------------------------------------------------------

static void print_parameter(const rnl_parameter *parameter)
{
    if (parameter->type[0])
        printf("%s", parameter->type);
    else
        printf("%s:%" PRIu32, kind_name(parameter), parameter->size);
}

static void print_function(const rnl_function_info *info)
{
    print_painted(PAINT_TITLE, "%s", info->name);
    putchar('(');
    for (size_t i = 0; i < info->parameter_count; i++) {
        fputs(i ? ", " : "", stdout);
        print_parameter(&info->parameters[i]);
    }
    printf(")\n");
    print_row("Symbol", "%s", info->symbol);
    print_row("Threads of a block", "at most %" PRIu32,
              info->max_block_threads);
    if (info->tier)
        print_row("Tier", "%s%s%s", info->tier,
                  info->tier_reason[0] ? ": " : "", info->tier_reason);
    if (info->registers)
        print_row("Registers", "%" PRIu32 " for each thread", info->registers);
    if (info->shared_size)
        print_row("Shared memory", "%zu B for each block", info->shared_size);
    if (info->local_size)
        print_row("Local memory", "%zu B for each thread", info->local_size);
}

// --- JSON -------------------------------------------------------------------

static void json_parameter(struct json *json, const rnl_parameter *parameter)
{
    json_begin(json, NULL, '{');
    json_string(json, "type", parameter->type);
    json_string(json, "kind", kind_name(parameter));
    json_unsigned(json, "size", parameter->size);
    json_end(json, '}');
}

static void json_function(struct json *json, const rnl_function_info *info)
{
    json_begin(json, NULL, '{');
    json_string(json, "name", info->name);
    json_string(json, "symbol", info->symbol);
    json_begin(json, "parameters", '[');
    for (size_t i = 0; i < info->parameter_count; i++)
        json_parameter(json, &info->parameters[i]);
    json_end(json, ']');
    json_unsigned(json, "max_block_threads", info->max_block_threads);
    json_unsigned(json, "registers", info->registers);
    json_unsigned(json, "shared_size", info->shared_size);
    json_unsigned(json, "local_size", info->local_size);
    json_string(json, "tier", info->tier ? info->tier : "");
    json_string(json, "tier_reason", info->tier ? info->tier_reason : "");
    json_end(json, '}');
}

// --- All --------------------------------------------------------------------

static rnl_status show(struct json *json, rnl_function function)
{
    rnl_function_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_function_get_info(function, &info);
    if (status == RNL_OK && json)
        json_function(json, &info);
    else if (status == RNL_OK)
        print_function(&info);
    return status;
}

static rnl_status show_all(struct json *json, const rnl_function *functions,
                           size_t count)
{
    rnl_status status = RNL_OK;
    if (json) {
        json_begin(json, NULL, '{');
        json_begin(json, "kernels", '[');
    }
    for (size_t i = 0; status == RNL_OK && i < count; i++)
        status = show(json, functions[i]);
    if (json) {
        json_end(json, ']');
        json_end(json, '}');
    } else if (count == 0) {
        printf("There is no kernel in it.\n");
    }
    return status;
}

int run_list(struct run *run)
{
    struct json json = {0};
    size_t count = 0, taken = 0;
    rnl_status status =
        rnl_module_get_functions(run->module, NULL, 0, &count);
    if (status != RNL_OK)
        return complain_failure(status);
    rnl_function *functions = calloc(count + 1, sizeof(rnl_function));
    if (!functions) {
        complain("there is no memory left");
        return EXIT_FAILED;
    }
    status = rnl_module_get_functions(run->module, functions, count, &taken);
    if (status == RNL_OK)
        status = show_all(run->options.json ? &json : NULL, functions, taken);
    int code = status == RNL_OK ? EXIT_OK : complain_failure(status);
    for (size_t i = 0; i < count; i++)
        rnl_function_release(functions[i]);
    free(functions);
    return code;
}
