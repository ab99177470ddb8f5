// The common part of drivers that do nothing: still_cuda.c and still_hip.c.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int nothing(void)
{
    return 0;
}

static int one_device(int *out_count)
{
    *out_count = 1;
    return 0;
}

static int device(int *out_device, int ordinal)
{
    *out_device = ordinal;
    return 0;
}

static int text(char *out, int size, int of)
{
    (void)of;
    snprintf(out, (size_t)size, "still");
    return 0;
}

static int memory(size_t *out_bytes, int of)
{
    (void)of;
    *out_bytes = (size_t)1 << 36;
    return 0;
}

static int function_attribute(int *out_value, int id, void *of)
{
    enum { MAX_THREADS = 0 };
    (void)of;
    *out_value = id == MAX_THREADS ? 1024 : 0;
    return 0;
}

// Handles are never looked at.
static int handle(void **out)
{
    static char one;
    *out = &one;
    return 0;
}

static int allocate(uint64_t *out_address, size_t size)
{
    void *pointer = malloc(size);
    *out_address = (uint64_t)(uintptr_t)pointer;
    return pointer ? 0 : 2;
}

static int allocate_host(void **out_pointer, size_t size, unsigned flags)
{
    (void)flags;
    *out_pointer = malloc(size);
    return *out_pointer ? 0 : 2;
}

static int release(void *pointer)
{
    free(pointer);
    return 0;
}

static int write_value(void *stream, uint64_t address, uint32_t value)
{
    (void)stream;
    __atomic_store_n((uint32_t *)(uintptr_t)address, value, __ATOMIC_RELEASE);
    return 0;
}

static int elapsed(float *out_ms)
{
    *out_ms = 0;
    return 0;
}
