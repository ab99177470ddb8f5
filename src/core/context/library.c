#include "core/context/library.h"

#include "base/log.h"
#include "base/dynlib.h"
#include "core/backend.h"
#include "core/object/config.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/failure.h"
#include "core/stream/interprocess_event.h"
#include "core/stream/op.h"

#include <stdio.h>
#include <string.h>

static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool opened;
static const struct backend *const *table = backends;
static struct device devices[DEVICES_MAX];
static size_t adopted_count;
static size_t order[DEVICES_MAX];
static size_t order_count;

static void device_finish(struct object *object)
{
    (void)object;
}

static struct object_class device_class = {
    .kind = OBJECT_DEVICE,
    .size = sizeof(struct device),
    .finish = device_finish,
};

// Accepts "cpu" for every device of that api and "cpu:0" for one.
static bool entry_names(const char *entry, size_t length,
                        const struct device *device)
{
    char name[40];
    int size = snprintf(name, sizeof name, "%s:%u", device->info.api,
                        device->index);
    if (size == (int)length && strncmp(entry, name, length) == 0)
        return true;
    return strlen(device->info.api) == length &&
           strncmp(entry, device->info.api, length) == 0;
}

static void order_add(size_t index)
{
    for (size_t i = 0; i < order_count; i++)
        if (order[i] == index)
            return;
    order[order_count++] = index;
}

static void order_by_list(const char *list)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        for (size_t i = 0; i < adopted_count; i++)
            if (entry_names(list, length, &devices[i]))
                order_add(i);
        list += length;
        list += *list == ',';
    }
}

static void add_devices(const struct backend *backend)
{
    size_t count = backend->device_count(NULL);
    for (size_t i = 0; i < count && adopted_count < DEVICES_MAX; i++) {
        struct device *device = &devices[adopted_count];
        device->backend = backend;
        device->index = (uint32_t)i;
        device->info = (rnl_device_info){.struct_size = sizeof device->info};
        snprintf(device->info.api, sizeof device->info.api, "%s",
                 backend->api);
        device->info.index = device->index;
        if (backend->device_info(device->index, &device->info) != RNL_OK) {
            log_write(RNL_LOG_WARNING, "%s:%zu is left out: %s", backend->api,
                      i, rnl_last_error()->message);
            continue;
        }
        object_adopt(&device_class, &device->object);
        adopted_count++;
    }
}

// In the child, all other threads are gone with their locks.
static void after_fork_in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    open_mutex = fresh;
    dynlib_after_fork_in_child();
    log_forked();
    object_table_forked();
    op_forked();
    failure_forked();
    shared_events_forked();
    capture_forked();
}

// For a new table, or in a child that was forked while the library was opened:
// the child opens the library anew.
static void withdraw_devices(void)
{
    for (size_t i = 0; i < adopted_count; i++)
        atomic_store(&devices[i].object.handle, 0);
    adopted_count = order_count = 0;
}

static rnl_status open_locked(void)
{
    ASSERT(pthread_mutex_trylock(&open_mutex) != 0);
    backend_index_open(table);
    capture_recorder = &capture_graph_recorder;
    for (size_t i = 0; table[i]; i++) {
        const char *broken = backend_check(table[i]);
        if (broken)
            return fail(RNL_ERROR_INTERNAL,
                        "the backend table '%s' is illegal: %s",
                        table[i]->api ? table[i]->api : "?", broken);
    }
    withdraw_devices();
    for (size_t i = 0; table[i]; i++)
        add_devices(table[i]);
    const char *list = config_get()->devices;
    if (list)
        order_by_list(list);
    for (size_t i = 0; !list && i < adopted_count; i++)
        order_add(i);
    return RNL_OK;
}

rnl_status library_open(void)
{
    if (atomic_load_explicit(&opened, memory_order_acquire))
        return RNL_OK;
    // Before anything that a fork could interrupt.
    static atomic_bool noticed;
    static const struct fork_hooks hooks = {
        dynlib_before_fork, dynlib_after_fork_in_parent, after_fork_in_child};
    if (!thread_notice_forks(&noticed, &hooks))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to be told of forks");
    pthread_mutex_lock(&open_mutex);
    rnl_status status = RNL_OK;
    if (!atomic_load(&opened)) {
        asymmetric_fence_open();
        status = open_locked();
        atomic_store_explicit(&opened, status == RNL_OK,
                              memory_order_release);
    }
    pthread_mutex_unlock(&open_mutex);
    return status;
}

rnl_status library_reopen(const struct backend *const *new_table)
{
    pthread_mutex_lock(&open_mutex);
    table = new_table;
    atomic_store(&opened, false);
    pthread_mutex_unlock(&open_mutex);
    return library_open();
}

size_t library_device_count(void)
{
    return order_count;
}

struct device *library_device(size_t index)
{
    return &devices[order[index]];
}

const struct backend *library_backend(const char *api)
{
    for (size_t i = 0; table[i]; i++)
        if (strcmp(table[i]->api, api) == 0)
            return table[i];
    return NULL;
}

const struct backend *library_backend_at(size_t index)
{
    for (size_t i = 0; table[i]; i++)
        if (i == index)
            return table[i];
    return NULL;
}
