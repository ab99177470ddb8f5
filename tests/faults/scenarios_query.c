// Questions, while faults are injected.
#include "sweep.h"

#include <stdio.h>

static rnl_status devices(void)
{
    rnl_status status = RNL_OK;
    rnl_device device = NULL;
    rnl_device_info info = {.struct_size = sizeof info};
    const char *reason = NULL, *name = NULL;
    size_t count = 0;
    bool present = false;
    int64_t value = 0;
    TRY(rnl_device_count(NULL, &count));
    EXPECT(count > 0);
    TRY(rnl_api_name(0, &name));
    TRY(rnl_api_reason(name, &reason));
    TRY(rnl_has_accelerator(&present));
    TRY(rnl_device_get("cpu", 0, &device));
    TRY(rnl_device_get_info(device, &info));
    EXPECT(info.multiprocessors > 0);
    TRY(rnl_device_attribute(device, RNL_ATTRIBUTE_WARP_SIZE, &value));
    TRY(rnl_device_default(&device));
    return status;
}

static rnl_status contexts_asked(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    const char *reason = NULL;
    uint64_t id = 0;
    size_t unused = 0, total = 0;
    int least = 0, greatest = 0;
    TRY(rnl_context_id(t->context, &id));
    TRY(rnl_context_memory(t->context, &unused, &total));
    EXPECT(total > 0);
    TRY(rnl_context_is_compatible(t->context, &reason));
    TRY(rnl_context_priority_range(t->context, &least, &greatest));
    for (int i = RNL_FEATURE_COMPILE; i <= RNL_FEATURE_HOST_FUNCTIONS; i++) {
        rnl_status able = rnl_context_supports(t->context, (rnl_feature)i,
                                               &reason);
        EXPECT(able == RNL_OK || (reason && *reason));
    }
    return status;
}

static rnl_status count_entry(const rnl_cache_entry *entry, void *user_data)
{
    (void)entry;
    ++*(int *)user_data;
    return RNL_OK;
}

static rnl_status cache(void)
{
    rnl_status status = RNL_OK;
    rnl_cache_info info = {.struct_size = sizeof info};
    int entries = 0;
    uint64_t count = 0, size = 0;
    TRY(rnl_cache_get_info(&info));
    TRY(rnl_cache_visit(count_entry, &entries));
    TRY(rnl_cache_prune(UINT64_C(1) << 40, &count, &size));
    return status;
}

static void log_nothing(rnl_log_level level, const char *message,
                        void *user_data)
{
    (void)level, (void)message, (void)user_data;
}

static rnl_status logging(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    TRY(rnl_log_set(log_nothing, RNL_LOG_DEBUG, NULL));
    TRY(sweep_open(&context));
    RELEASE(rnl_context_release(context));
    rnl_log_set(NULL, RNL_LOG_ERROR, NULL);
    return status;
}

const struct scenario query_scenarios[] = {
    {"devices", devices, NULL, {0}},
    {"contexts asked", NULL, contexts_asked, {0}},
    {"cache", cache, NULL, {0}},
    {"logging", logging, NULL, {0}},
    {0},
};
