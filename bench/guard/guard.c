// Runs one operation many times, for the instruction count of guard.sh.
//
//   runnel-guard OPERATION COUNT
#include <runnel/runnel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct setup {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_function function;
} setup;

static rnl_status empty_kernel(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

static rnl_status query(const setup *with)
{
    return rnl_event_query(with->event);
}

static rnl_status record(const setup *with)
{
    return rnl_enqueue_event_record(with->stream, with->event);
}

static rnl_status launch(const setup *with)
{
    rnl_status status = rnl_enqueue_function(
        with->stream, with->function,
        RNL_LAUNCH(.grid = {1}, .block = {1}), RNL_NO_ARGS);
    return status ? status : rnl_stream_synchronize(with->stream, RNL_FOREVER);
}

static rnl_status create_release(const setup *with)
{
    rnl_buffer buffer;
    rnl_status status = rnl_buffer_create(with->context, 4096, NULL, &buffer);
    return status ? status : rnl_buffer_release(buffer);
}

static const struct {
    const char *name;
    rnl_status (*run)(const setup *);
} operations[] = {
    {"event-query", query},
    {"event-record", record},
    {"launch-synchronize", launch},
    {"buffer-create-release", create_release},
};

// Only what happens in here is counted: the name is known to guard.sh.
__attribute__((noinline)) rnl_status
guard_run(rnl_status (*run)(const setup *), const setup *with, long count);

rnl_status guard_run(rnl_status (*run)(const setup *), const setup *with,
                     long count)
{
    rnl_status status = RNL_OK;
    for (long i = 0; i < count && !status; i++)
        status = run(with);
    return status;
}

static rnl_status open_all(setup *out)
{
    rnl_status status = rnl_context_open("cpu", 0, NULL, &out->context);
    if (!status)
        status = rnl_stream_create(out->context, NULL, &out->stream);
    if (!status)
        status = rnl_event_create(out->context, NULL, &out->event);
    if (!status)
        status = rnl_function_create_native(out->context, "empty",
                                            empty_kernel, NULL,
                                            &out->function);
    if (!status)
        status = record(out);
    if (!status)
        status = rnl_stream_synchronize(out->stream, RNL_FOREVER);
    return status;
}

static void close_all(setup *with)
{
    rnl_function_release(with->function);
    rnl_event_release(with->event);
    rnl_stream_release(with->stream);
    rnl_context_release(with->context);
}

int main(int count, char **arguments)
{
    setup with = {0};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (count != 3 || strcmp(arguments[1], operations[i].name))
            continue;
        rnl_status status = open_all(&with);
        if (!status)
            status = guard_run(operations[i].run, &with, atol(arguments[2]));
        if (status)
            fprintf(stderr, "runnel-guard: %s\n", rnl_last_error()->message);
        close_all(&with);
        return status ? 1 : 0;
    }
    fprintf(stderr, "runnel-guard: unknown operation\n");
    return 2;
}
