// Memory that processes share, when calls of the driver fail, and handles that
// do not fit.
#include "round.h"

#include <string.h>
#include <unistd.h>

enum { SIZE = 5000 };

static rnl_ipc_handle handle;

static rnl_status make(rnl_context context, rnl_buffer *out_buffer)
{
    return rnl_buffer_create(context, SIZE,
                             RNL_BUFFER_OPTIONS(.interprocess = true,
                                                .zeroed = true), out_buffer);
}

static rnl_status exports(struct round *round)
{
    rnl_status status = round_open(round);
    TRY(make(round->context, &round->buffer));
    TRY(rnl_buffer_export(round->buffer, &handle));
    TRY(rnl_fill_and_wait(round->stream, round->buffer, 0, SIZE, 1, 4));
    return round_settle(round, status);
}

RNL_TEST(exports_survive_any_failing_call)
{
    fake_load();
    round_sweep(exports);
}

// --- Another process --------------------------------------------------------

// Exports a buffer to descriptor 3 and keeps it until its input ends.
static void be_exporter(void)
{
    struct round round = {0};
    char end;
    assert_ok(exports(&round));
    assert_int_equal(write(3, &handle, sizeof handle), sizeof handle);
    assert_int_equal(read(0, &end, 1), 0);
    round_finish(&round);
    fake_expect_empty();
}

// Twice, which is one address; the second is let go first.
static rnl_status imports(struct round *round)
{
    static int back[SIZE / 4];
    rnl_status status = round_open(round);
    TRY(rnl_buffer_import(round->context, &handle, &round->buffer));
    TRY(rnl_buffer_import(round->context, &handle, &round->host));
    assert_ok(rnl_buffer_release(round->host));
    round->host = NULL;
    TRY(rnl_copy_from_buffer_and_wait(round->stream, back, round->buffer, 0,
                                      SIZE));
    if (status == RNL_OK)
        assert_int_equal(back[SIZE / 4 - 1], 1);
    return round_settle(round, status);
}

RNL_TEST(imports_survive_any_failing_call)
{
    int to;
    fake_load();
    if (fake_is_child()) {
        be_exporter();
        return;
    }
    pid_t child = fake_start(__func__, &to, &handle);
    round_sweep(imports);
    fake_finish(child, to);
}

RNL_TEST(a_driver_that_finds_no_memory_is_quoted)
{
    int to;
    struct round round = {0};
    const char *open_name =
        fake_is_hip() ? "hipIpcOpenMemHandle" : "cuIpcOpenMemHandle";
    fake_load();
    if (fake_is_child()) {
        be_exporter();
        return;
    }
    pid_t child = fake_start(__func__, &to, &handle);
    assert_ok(round_open(&round));
    fake_fail(open_name, 1, 400, 0);
    assert_status(rnl_buffer_import(round.context, &handle, &round.buffer),
                  RNL_ERROR_NOT_FOUND);
    assert_non_null(strstr(rnl_last_error()->message,
                           fake_is_hip() ? "hipErrorInvalidHandle"
                                         : "CUDA_ERROR_INVALID_HANDLE"));
    fake_fail(open_name, 1, 801, 0);
    assert_status(rnl_buffer_import(round.context, &handle, &round.buffer),
                  RNL_ERROR_UNSUPPORTED);
    fake_finish(child, to);
    assert_status(rnl_buffer_import(round.context, &handle, &round.buffer),
                  RNL_ERROR_NOT_FOUND);
    assert_null(round.buffer);
    round_finish(&round);
    fake_expect_empty();
}

// --- Handles that do not fit ------------------------------------------------

static void expect_refused(const char *api, size_t index, const char *words)
{
    rnl_context context = NULL;
    rnl_buffer buffer = NULL;
    assert_ok(rnl_context_open(api, index, NULL, &context));
    assert_status(rnl_buffer_import(context, &handle, &buffer),
                  RNL_ERROR_INVALID_ARGUMENT);
    if (!strstr(rnl_last_error()->message, words))
        fail_msg("no \"%s\" in: %s", words, rnl_last_error()->message);
    assert_null(buffer);
    assert_ok(rnl_context_release(context));
}

RNL_TEST(memory_is_imported_where_it_is_only)
{
    static const char *const environment[] = {"RUNNEL_FAKE_DEVICES=2", NULL};
    struct round round = {0};
    fake_load();
    if (!fake_is_child()) {
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    assert_ok(exports(&round));
    expect_refused(fake_api(), 1,
                   fake_is_hip() ? "another device than hip:1"
                                 : "another device than cuda:1");
    expect_refused("cpu", 0, fake_is_hip() ? "'hip'" : "'cuda'");
    expect_refused(fake_api(), 0, "of this process");
    round_finish(&round);
    assert_ok(rnl_context_open("cpu", 0, NULL, &round.context));
    round.stream = NULL;
    round.buffer = NULL;
    assert_ok(make(round.context, &round.buffer));
    assert_ok(rnl_buffer_export(round.buffer, &handle));
    expect_refused(fake_api(), 0, "'cpu'");
    assert_ok(rnl_buffer_release(round.buffer));
    assert_ok(rnl_context_release(round.context));
    fake_expect_empty();
}
