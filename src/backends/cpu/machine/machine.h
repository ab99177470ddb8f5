// The machine: its cores and memory, the memory of buffers, and the backend's
// part of a context.
#pragma once

#include "core/backend.h"

struct pool;

struct cpu_context {
    struct pool *pool;
    atomic_bool warned_of_tier;  // a kernel was compiled to tier F
};


// Facts about the machine, in machine.c.
unsigned machine_cores(void);  // by affinity and cgroup quota
void machine_memory(size_t *out_free, size_t *out_total);
void machine_info(rnl_device_info *info);

rnl_status cpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory);
void cpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size);
rnl_status cpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory);
rnl_status cpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked);
