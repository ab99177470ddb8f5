// Failures and options of public calls, by the public interface of Runnel.
#include "comm_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

rnl_status report(rnl_status status, const char *function,
                  const char *parameter, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return rnl_last_error_set(&(rnl_error){.struct_size = sizeof(rnl_error),
                                           .status = status,
                                           .message = message,
                                           .function = function,
                                           .parameter = parameter});
}

rnl_status read_options(void *options, size_t size, const void *given,
                        const char *function, const char *parameter)
{
    size_t given_size = size;
    memset(options, 0, size);
    if (given)
        memcpy(&given_size, given, sizeof given_size);
    if (given_size < sizeof given_size || given_size > 65536)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, parameter,
                      "'%s' has a struct_size of %zu where this library knows "
                      "%zu bytes: make it with its macro or set struct_size",
                      parameter, given_size, size);
    for (size_t i = size; given && i < given_size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return report(RNL_ERROR_UNSUPPORTED, function, parameter,
                          "'%s' asks for something that is newer than this "
                          "library",
                          parameter);
    if (given)
        memcpy(options, given, given_size < size ? given_size : size);
    memcpy(options, &size, sizeof size);
    return RNL_OK;
}

const char *op_name(enum comm_kind kind)
{
    static const char *const names[] = {
        "all-reduce", "broadcast", "reduce-scatter",
        "all-gather", "send",      "receive",
    };
    return names[kind];
}

bool op_reduces(enum comm_kind kind)
{
    return kind == OP_ALL_REDUCE || kind == OP_REDUCE_SCATTER;
}

const char *element_name(rnl_element element)
{
    static const char *const names[] = {
        "UNKNOWN",  "INT8",    "UINT8", "INT16",  "UINT16",
        "INT32",    "UINT32",  "INT64", "UINT64", "FLOAT16",
        "BFLOAT16", "FLOAT32", "FLOAT64",
    };
    return names[element];
}

void op_describe(const struct comm *comm, const struct comm_op *op, char *text,
                 size_t size)
{
    static const char *const joints[] = {"", " from root", "",
                                         "", " to rank",   " from rank"};
    char peer[32] = "";
    if (joints[op->kind][0])
        snprintf(peer, sizeof peer, "%s %d", joints[op->kind], op->peer);
    snprintf(text, size, "%s of rank %d of %d%s%s%s%s", op_name(op->kind),
             comm->rank, comm->size, peer, comm->label[0] ? " in '" : "",
             comm->label, comm->label[0] ? "'" : "");
}

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_after(uint64_t timeout_ns)
{
    uint64_t now = clock_ns();
    return timeout_ns < RNL_FOREVER - now ? now + timeout_ns : RNL_FOREVER;
}

void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}
