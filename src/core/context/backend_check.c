#include "core/backend.h"

#include <string.h>

// Hooks that every backend has, with the name for the message.
static const char *missing_hook(const struct backend *b)
{
    const struct {
        const char *message;
        bool present;
    } hooks[] = {
#define HOOK(name) {"the hook " #name " is missing", b->name != NULL}
        HOOK(device_count),   HOOK(device_info),
        HOOK(context_init),
        HOOK(context_finish), HOOK(context_memory),
        HOOK(feature_reason), HOOK(stream_init),
        HOOK(stream_finish),  HOOK(stream_submit),
        HOOK(stream_query),   HOOK(stream_wait),
        HOOK(stream_join),    HOOK(event_init),
        HOOK(event_finish),   HOOK(event_record),
        HOOK(event_join),     HOOK(event_query),
        HOOK(event_wait),     HOOK(memory_allocate),
        HOOK(memory_free),    HOOK(host_register),
#undef HOOK
    };
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
        if (!hooks[i].present)
            return hooks[i].message;
    return NULL;
}

static bool module_hooks(const struct backend *b)
{
    return b->compiler_identity && b->module_compile && b->module_init &&
           b->module_finish && b->module_global && b->module_kernel &&
           b->module_code && b->function_init && b->function_finish;
}

static bool any_module_hook(const struct backend *b)
{
    return b->compiler_identity || b->module_compile || b->module_init ||
           b->module_finish || b->module_global || b->module_kernel ||
           b->module_code || b->function_init || b->function_finish;
}

static bool has(const struct backend *b, rnl_feature feature)
{
    return b->features & BACKEND_FEATURE(feature);
}

const char *backend_check(const struct backend *b)
{
    if (b->abi != BACKEND_ABI)
        return "the table is of another ABI version";
    if (!b->api || !b->api[0] || strlen(b->api) >= 16)
        return "the api has no name of 1 to 15 characters";
    if (strcmp(b->api, "gpu") == 0)
        return "'gpu' means every accelerator and is no api";
    if (b->features & 1u)
        return "feature bit 0 is no feature";
    const char *missing = missing_hook(b);
    if (missing)
        return missing;
    if (has(b, RNL_FEATURE_COMPILE) && !module_hooks(b))
        return "RNL_FEATURE_COMPILE needs every module hook";
    if (any_module_hook(b) && !module_hooks(b))
        return "the module hooks are all or none";
    if (has(b, RNL_FEATURE_EVENT_TIMING) != (b->event_elapsed != NULL))
        return "RNL_FEATURE_EVENT_TIMING and event_elapsed go together";
    if (has(b, RNL_FEATURE_INTERPROCESS) != (b->event_share != NULL))
        return "RNL_FEATURE_INTERPROCESS and event_share go together";
    if (has(b, RNL_FEATURE_PROMISES) != (b->event_break != NULL))
        return "RNL_FEATURE_PROMISES and event_break go together";
    if (has(b, RNL_FEATURE_CANCEL) != (b->stream_cancel != NULL))
        return "RNL_FEATURE_CANCEL and stream_cancel go together";
    if (has(b, RNL_FEATURE_PEER_ACCESS) != (b->peer_access != NULL))
        return "RNL_FEATURE_PEER_ACCESS and peer_access go together";
    if (has(b, RNL_FEATURE_GRAPHS) !=
        (b->exec_init && b->exec_finish && b->exec_change))
        return "RNL_FEATURE_GRAPHS and the exec hooks go together";
    if (has(b, RNL_FEATURE_MEMORY_HINTS) != (b->memory_advise != NULL))
        return "RNL_FEATURE_MEMORY_HINTS and memory_advise go together";
    if (has(b, RNL_FEATURE_INTERPROCESS_MEMORY) != (b->memory_share != NULL))
        return "RNL_FEATURE_INTERPROCESS_MEMORY and memory_share go together";
    if (has(b, RNL_FEATURE_NATIVE_HANDLES) != (b->native != NULL))
        return "RNL_FEATURE_NATIVE_HANDLES and native go together";
    if (has(b, RNL_FEATURE_COOPERATIVE_LAUNCH) && !b->function_occupancy)
        return "RNL_FEATURE_COOPERATIVE_LAUNCH needs function_occupancy";
    if (b->accelerator && has(b, RNL_FEATURE_NATIVE_FUNCTIONS))
        return "an accelerator cannot run native functions";
    return NULL;
}
