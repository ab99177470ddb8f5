// The matrix of release races: every handle parameter of every public function
// (the rows of handles.c) against the last release of the handle by another
// thread. The call does what it says or is refused; nothing else happens. Meant
// to run under the sanitizers, too, which see what a crash would not show.
#include "handles.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CALLS_MOST = 64 };  // of one round

// Of each row: what takes long to make is made less often, and where a driver
// is in between all is.
static const int rounds[KINDS] = {
    [CONTEXT] = 100, [STREAM] = 300, [EVENT] = 600,  [BUFFER] = 300,
    [MODULE] = 600,  [FUNCTION] = 600, [GRAPH] = 300, [EXEC] = 600,
    [NODE] = 300,
};

static int rounds_of(enum kind kind)
{
    return suite_is_cpu() ? rounds[kind] : rounds[kind] / 10;
}

// The round is 1, 2, ... for both threads.
static struct race {
    const struct row *row;
    void *_Atomic handle;
    _Atomic int round;     // that there is a handle for; -1: the end
    _Atomic int begun;     // whose first call is about to be made
    _Atomic int released;  // whose handle is
    _Atomic int done;      // whose calls are over
    const char *wrong;     // the caller's, read at the end
} race;

static void *binary;
static size_t binary_size;

static void await(const _Atomic int *word, int round)
{
    for (unsigned tries = 0; atomic_load(word) != round; tries++)
        if (tries % 64 == 63)
            sched_yield();
}

static bool is(const char *word)
{
    return strstr(race.row->function, word) != NULL;
}

// --- The caller --------------------------------------------------------------

static void end_capture(rnl_stream stream)
{
    rnl_graph graph = NULL;
    if (rnl_stream_end_capture(stream, &graph) == RNL_OK)
        rnl_graph_release(graph);
}

// Undoes what the call did, so that the next one meets the same. Of what was
// given out only one release succeeds.
static void tidy(void *handle)
{
    void *made = with.out.pointer;
    if (is("_retain"))
        release_handle(race.row->kind, handle);
    if (is("map_and_wait"))
        rnl_buffer_unmap_and_wait(with.stream, with.buffer);
    if (is("_capture")) {
        end_capture(handle);
        end_capture(with.stream);
    }
    if (is("_default_stream"))
        return;
    for (enum kind kind = CONTEXT; kind < NODE; kind++)
        release_handle(kind, made);
}

static void call_once(void *handle)
{
    with.out.pointer = NULL;
    rnl_status status = race.row->call(handle);
    const rnl_error *error = rnl_last_error();
    if (status == RNL_OK)
        tidy(handle);
    else if (status != RNL_NOT_READY && error->status != status)
        race.wrong = "another status in rnl_last_error()";
    else if (status == RNL_ERROR_INVALID_HANDLE &&
             (!error->function || strcmp(error->function, race.row->function)))
        race.wrong = "another function in rnl_last_error()";
    else if (status == RNL_ERROR_INVALID_HANDLE && !error->parameter)
        race.wrong = "no parameter in rnl_last_error()";
}

static void *call_each(void *unused)
{
    for (int round = 1;; round++) {
        int now;
        for (unsigned tries = 0; (now = atomic_load(&race.round)) != round;
             tries++) {
            if (now < 0)
                return unused;
            if (tries % 64 == 63)
                sched_yield();
        }
        void *handle = atomic_load(&race.handle);
        atomic_store(&race.begun, round);
        for (int i = 0; i < CALLS_MOST; i++) {
            call_once(handle);
            if (atomic_load(&race.released) == round)
                break;
        }
        atomic_store(&race.done, round);
    }
}

// --- Who releases ------------------------------------------------------------

static void *make(enum kind kind)
{
    rnl_module module = NULL;
    void *handle;
    if (kind == CONTEXT)
        return suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    if (kind == MODULE && binary) {
        expect_ok(rnl_module_load(with.context, binary, binary_size, NULL,
                                  &module));
        return module;
    }
    handle = make_handle(kind);
    if (kind == BUFFER)  // what is waited for is there
        expect_ok(rnl_fill_and_wait(with.stream, handle, 0, 64, 1, 4));
    return handle;
}

// Some calls release or change what they are given besides.
static void mend(void)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    if (rnl_buffer_get_info(with.buffer, &info) == RNL_OK)
        return;
    with.buffer = make_handle(BUFFER);
    expect_ok(rnl_fill_and_wait(with.stream, with.buffer, 0, 64, 1, 4));
}

// From nothing to some microseconds: any part of any call is met.
static void pause_for(int round)
{
    static _Atomic int idle;
    for (int i = round * 37 % (8 << round % 9); i > 0; i--)
        atomic_fetch_add(&idle, 1);
}

static void run_row(const struct row *row)
{
    pthread_t thread;
    memset(&race, 0, sizeof race);
    race.row = row;
    assert_int_equal(pthread_create(&thread, NULL, call_each, NULL), 0);
    for (int round = 1; round <= rounds_of(row->kind); round++) {
        void *handle = make(row->kind);
        atomic_store(&race.handle, handle);
        atomic_store(&race.round, round);
        await(&race.begun, round);
        pause_for(round);
        rnl_status status = release_handle(row->kind, handle);
        atomic_store(&race.released, round);
        await(&race.done, round);
        if (status == RNL_ERROR_INVALID_STATE)  // a capture had the graph
            release_handle(row->kind, handle);
        mend();
        // What was enqueued uses the same memory.
        expect_ok(rnl_context_synchronize(with.context, RNL_FOREVER));
    }
    atomic_store(&race.round, -1);
    pthread_join(thread, NULL);
    if (race.wrong)
        fail_msg("%s(%s): %s", row->function,
                 row->parameter ? row->parameter : "place", race.wrong);
}

static void copy_binary(void)
{
    const void *data;
    if (!with.module)
        return;
    expect_ok(rnl_module_binary(with.module, &data, &binary_size));
    binary = malloc(binary_size);
    assert_non_null(binary);
    memcpy(binary, data, binary_size);
}

static void count_cell(const struct row *row)
{
    char cell[128];
    snprintf(cell, sizeof cell, "%s(%s)", row->function,
             row->parameter ? row->parameter : "place");
    test_member("release-cells", cell);
}

static void run_kind(enum kind kind)
{
    prepare_handles();
    copy_binary();
    void *one = make(kind);
    if (!one)
        test_skip("the device makes none of them");
    release_handle(kind, one);
    for (int i = 0; i < row_count(); i++)
        if (row_at(i)->kind == kind) {
            run_row(row_at(i));
            count_cell(row_at(i));
        }
    free(binary);
    expect_ok(rnl_fill_and_wait(with.stream, with.buffer, 0, 64, 1, 4));
    memset(with.host, 0, sizeof with.host);
    finish_handles();
}

RNL_TEST(contexts_are_released_while_they_are_used)
{
    run_kind(CONTEXT);
}

RNL_TEST(streams_are_released_while_they_are_used)
{
    run_kind(STREAM);
}

RNL_TEST(events_are_released_while_they_are_used)
{
    run_kind(EVENT);
}

RNL_TEST(buffers_are_released_while_they_are_used)
{
    run_kind(BUFFER);
}

RNL_TEST(modules_are_released_while_they_are_used)
{
    run_kind(MODULE);
}

RNL_TEST(functions_are_released_while_they_are_used)
{
    run_kind(FUNCTION);
}

RNL_TEST(graphs_are_released_while_they_are_used)
{
    run_kind(GRAPH);
}

RNL_TEST(execs_are_released_while_they_are_used)
{
    run_kind(EXEC);
}

RNL_TEST(nodes_are_removed_while_they_are_used)
{
    run_kind(NODE);
}
