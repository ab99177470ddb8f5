// Buffers shared by processes. A child is this program again, with the handle
// in its environment; where both have to live at once they talk by pipes.
#include "suite.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4096, SIZE = WORDS * 4, ROUNDS = 1000 };

#define HANDLE_VARIABLE "RUNNEL_TEST_HANDLE"

static rnl_buffer new_shared(size_t size)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(
        suite_context(), size,
        RNL_BUFFER_OPTIONS(.interprocess = true, .zeroed = true,
                           .label = "shared"), &buffer));
    return buffer;
}

static rnl_ipc_handle handle_of(rnl_buffer buffer)
{
    rnl_ipc_handle handle;
    expect_ok(rnl_buffer_export(buffer, &handle));
    return handle;
}

// "NAME=" and the bytes in hexadecimal digits.
struct handle_text {
    char text[sizeof HANDLE_VARIABLE + 2 * sizeof(rnl_ipc_handle) + 1];
};

static struct handle_text text_of(const rnl_ipc_handle *handle)
{
    struct handle_text text = {HANDLE_VARIABLE "="};
    for (size_t i = 0; i < sizeof handle->bytes; i++)
        snprintf(text.text + sizeof HANDLE_VARIABLE + 2 * i, 3, "%02x",
                 handle->bytes[i]);
    return text;
}

static rnl_ipc_handle handle_given(void)
{
    rnl_ipc_handle handle;
    const char *text = getenv(HANDLE_VARIABLE);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof handle.bytes; i++) {
        unsigned byte = 256;
        assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
        handle.bytes[i] = (unsigned char)byte;
    }
    return handle;
}

static rnl_buffer import_given(void)
{
    rnl_ipc_handle handle = handle_given();
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_import(suite_context(), &handle, &buffer));
    return buffer;
}

static int spawn_with(const char *child, const rnl_ipc_handle *handle)
{
    struct handle_text text = text_of(handle);
    return suite_spawn(child, (const char *const[]){text.text, NULL});
}

// Runs beside the test. What is written to `*out_to` is its standard input; its
// descriptor 3 comes out of `*out_from`.
static pid_t start(const char *child, const rnl_ipc_handle *handle,
                   int *out_to, int *out_from)
{
    int to[2], from[2];
    struct handle_text text = text_of(handle);
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = test_fork();
    if (pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 3);
        close(to[1]);
        close(from[0]);
        setenv("RUNNEL_TEST_CHILD", "1", 1);
        putenv(text.text);
        execl("/proc/self/exe", "suite", child, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    *out_to = to[1];
    *out_from = from[0];
    return pid;
}

// --- Bytes both ways -------------------------------------------------------

SUITE_CHILD(child_reads_and_answers)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    rnl_buffer buffer = import_given(), slice = NULL;
    expect_ok(rnl_buffer_get_info(buffer, &info));
    assert_int_equal(info.size, SIZE);
    assert_false(info.borrowed);
    suite_expect_ints(buffer, WORDS, 7);
    expect_ok(rnl_buffer_slice(buffer, SIZE / 2, SIZE / 2, &slice));
    expect_ok(rnl_enqueue_fill(suite_stream(), slice, 0, SIZE / 2, 8, 4));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    exit(51);
}

RNL_TEST(two_processes_see_each_others_bytes)
{
    int words[WORDS];
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_buffer buffer = new_shared(SIZE);
    suite_expect_ints(buffer, WORDS, 0);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, SIZE, 7, 4));
    rnl_ipc_handle handle = handle_of(buffer);
    assert_int_equal(spawn_with("child_reads_and_answers", &handle), 51);
    suite_download(words, buffer, SIZE);
    for (int i = 0; i < WORDS; i++)
        assert_int_equal(words[i], i < WORDS / 2 ? 7 : 8);
    expect_ok(rnl_buffer_release(buffer));
}

// --- Order by words in the memory ------------------------------------------

// Word 0 counts what the parent did, word 1 what the child did.
SUITE_CHILD(child_answers_each_round)
{
    rnl_buffer buffer = import_given();
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        expect_ok(rnl_enqueue_wait_value32(suite_stream(), buffer, 0, i,
                                           RNL_WAIT_GEQ));
        expect_ok(rnl_enqueue_write_value32(suite_stream(), buffer, 4, i));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    }
    expect_ok(rnl_buffer_release(buffer));
    exit(52);
}

RNL_TEST(streams_of_two_processes_take_turns)
{
    int to, from;
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_buffer buffer = new_shared(SIZE);
    rnl_ipc_handle handle = handle_of(buffer);
    pid_t child = start("child_answers_each_round", &handle, &to, &from);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        expect_ok(rnl_enqueue_write_value32(suite_stream(), buffer, 0, i));
        expect_ok(rnl_enqueue_wait_value32(suite_stream(), buffer, 4, i,
                                           RNL_WAIT_GEQ));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    }
    assert_int_equal(test_wait(child), 52);
    close(to);
    close(from);
    expect_ok(rnl_buffer_release(buffer));
}

// --- Ends ------------------------------------------------------------------

SUITE_CHILD(child_is_killed_with_an_import)
{
    rnl_buffer buffer = import_given();
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, SIZE, 9, 4));
    raise(SIGKILL);
}

RNL_TEST(an_importer_may_be_killed)
{
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_buffer buffer = new_shared(SIZE);
    rnl_ipc_handle handle = handle_of(buffer);
    assert_int_equal(spawn_with("child_is_killed_with_an_import", &handle),
                     -SIGKILL);
    suite_expect_ints(buffer, WORDS, 9);
    expect_ok(rnl_buffer_release(buffer));
}

SUITE_CHILD(child_exports_until_it_is_killed)
{
    rnl_buffer buffer = new_shared(SIZE);
    rnl_ipc_handle handle = handle_of(buffer);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, SIZE, 11, 4));
    assert_int_equal(write(3, &handle, sizeof handle), sizeof handle);
    for (;;)
        pause();
}

static int count_entries(const char *folder)
{
    int count = 0;
    DIR *stream = opendir(folder);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        count += strstr(entry->d_name, "runnel") != NULL;
    if (stream)
        closedir(stream);
    return count;
}

RNL_TEST(an_exporter_may_be_killed_and_leaves_nothing)
{
    int to, from;
    rnl_ipc_handle handle, none = {{0}};
    rnl_buffer buffer = NULL, late = NULL;
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    if (!suite_is_cpu())
        test_skip("a driver ends the memory with the exporter");
    char temporary[] = "/tmp/runnel-test-XXXXXX";  // with nobody else's files
    assert_non_null(mkdtemp(temporary));
    setenv("TMPDIR", temporary, 1);
    int before = count_entries("/dev/shm");
    pid_t child = start("child_exports_until_it_is_killed", &none, &to, &from);
    assert_int_equal(read(from, &handle, sizeof handle), sizeof handle);
    assert_int_equal(count_entries("/dev/shm"), before);
    expect_ok(rnl_buffer_import(suite_context(), &handle, &buffer));
    kill(child, SIGKILL);
    assert_int_equal(test_wait(child), -SIGKILL);
    suite_expect_ints(buffer, WORDS, 11);
    expect_error(rnl_buffer_import(suite_context(), &handle, &late),
                 RNL_ERROR_NOT_FOUND, "handle");
    assert_null(late);
    expect_error(rnl_buffer_export(buffer, &none), RNL_ERROR_INVALID_ARGUMENT,
                 "buffer");
    expect_ok(rnl_buffer_release(buffer));
    close(to), close(from);
    assert_int_equal(rmdir(temporary), 0);
}

SUITE_CHILD(child_finds_nothing)
{
    rnl_ipc_handle handle = handle_given();
    rnl_buffer buffer = NULL;
    expect_error(rnl_buffer_import(suite_context(), &handle, &buffer),
                 RNL_ERROR_NOT_FOUND, "handle");
    assert_null(buffer);
    exit(53);
}

RNL_TEST(a_handle_of_a_released_buffer_is_stale)
{
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    if (!suite_is_cpu())
        test_skip("a driver frees memory later than the release");
    rnl_buffer buffer = new_shared(SIZE);
    rnl_ipc_handle handle = handle_of(buffer);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    rnl_buffer next = new_shared(SIZE);  // takes the descriptor's number
    assert_int_equal(spawn_with("child_finds_nothing", &handle), 53);
    expect_ok(rnl_buffer_release(next));
}

// --- Events ----------------------------------------------------------------

static rnl_event new_event(void)
{
    rnl_event event = NULL;
    expect_ok(rnl_event_create(
        suite_context(),
        RNL_EVENT_OPTIONS(.interprocess = true, .label = "shared"), &event));
    return event;
}

static rnl_event import_event(void)
{
    rnl_ipc_handle handle = handle_given();
    rnl_event event = NULL;
    expect_ok(rnl_event_import(suite_context(), &handle, &event));
    return event;
}

// The stream behind the record waits until the test says so.
static void record_shut(rnl_stream stream, rnl_event event, rnl_buffer *word)
{
    *word = suite_new_buffer(64);
    expect_ok(rnl_fill_and_wait(stream, *word, 0, 64, 0, 4));
    expect_ok(rnl_enqueue_wait_value32(stream, *word, 0, 1, RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_event_record(stream, event));
}

static void tell(int to)
{
    assert_int_equal(write(to, "x", 1), 1);
}

static void be_told(int from)
{
    char byte;
    assert_int_equal(read(from, &byte, 1), 1);
}

RNL_TEST(an_interprocess_event_is_an_event)
{
    suite_need(RNL_FEATURE_INTERPROCESS);
    rnl_event event = new_event();
    rnl_stream other = NULL;
    rnl_buffer word = NULL;
    expect_ok(rnl_event_query(event));
    expect_ok(rnl_event_synchronize(event, 0));
    expect_ok(rnl_enqueue_wait_event(suite_stream(), event));
    expect_ok(rnl_stream_create(suite_context(), NULL, &other));
    record_shut(suite_stream(), event, &word);
    expect_ok(rnl_enqueue_wait_event(other, event));
    assert_int_equal(rnl_event_query(event), RNL_NOT_READY);
    assert_int_equal(rnl_stream_query(other), RNL_NOT_READY);
    expect_error(rnl_event_synchronize(event, 1), RNL_ERROR_TIMED_OUT,
                 "event");
    // Waits that stand need no handle.
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_create(suite_context(), NULL, &event));
    expect_ok(rnl_enqueue_event_record(other, event));
    assert_int_equal(rnl_event_query(event), RNL_NOT_READY);
    rnl_stream third = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &third));
    expect_ok(rnl_enqueue_write_value32(third, word, 0, 1));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(third));
}

// More records than there are places, on two streams in turn.
RNL_TEST(an_interprocess_event_is_recorded_often)
{
    suite_need(RNL_FEATURE_INTERPROCESS);
    rnl_event event = new_event();
    rnl_stream streams[2] = {suite_stream(), NULL};
    rnl_buffer word = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &streams[1]));
    record_shut(streams[0], event, &word);
    for (int i = 0; i < ROUNDS; i++)
        expect_ok(rnl_enqueue_event_record(streams[i % 2], event));
    expect_ok(rnl_enqueue_wait_event(streams[0], event));
    assert_int_equal(rnl_event_query(event), RNL_NOT_READY);
    rnl_stream third = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &third));
    expect_ok(rnl_enqueue_write_value32(third, word, 0, 1));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(streams[0], RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(streams[1]));
    expect_ok(rnl_stream_release(third));
}

// Says when its waits stand, which the record in the parent is before.
SUITE_CHILD(child_waits_for_the_event)
{
    rnl_event event = import_event(), back = NULL;
    rnl_ipc_handle handle;
    expect_ok(rnl_enqueue_wait_event(suite_stream(), event));
    assert_int_equal(rnl_event_query(event), RNL_NOT_READY);
    assert_int_equal(rnl_stream_query(suite_stream()), RNL_NOT_READY);
    back = new_event();
    expect_ok(rnl_enqueue_event_record(suite_stream(), back));
    expect_ok(rnl_event_export(back, &handle));
    assert_int_equal(write(3, &handle, sizeof handle), sizeof handle);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    be_told(0);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(back));
    exit(54);
}

RNL_TEST(streams_of_two_processes_wait_for_events)
{
    int to, from;
    suite_need(RNL_FEATURE_INTERPROCESS);
    rnl_event event = new_event(), back = NULL;
    rnl_ipc_handle handle;
    rnl_buffer word = NULL;
    rnl_stream other = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &other));
    record_shut(suite_stream(), event, &word);
    expect_ok(rnl_event_export(event, &handle));
    pid_t child = start("child_waits_for_the_event", &handle, &to, &from);
    assert_int_equal(read(from, &handle, sizeof handle), sizeof handle);
    expect_ok(rnl_event_import(suite_context(), &handle, &back));
    assert_int_equal(rnl_event_query(back), RNL_NOT_READY);
    expect_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_ok(rnl_enqueue_wait_event(suite_stream(), back));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_event_synchronize(back, RNL_FOREVER));
    tell(to);
    assert_int_equal(test_wait(child), 54);
    close(to);
    close(from);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(back));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(other));
}

enum { TURNS = 100 };

// Each word is read before the next is written, and no host waits for that.
SUITE_CHILD(child_copies_each_word)
{
    static int words[TURNS];
    rnl_ipc_handle handle;
    rnl_event event = NULL, back = new_event();
    rnl_buffer buffer = import_given(), copies = suite_new_buffer(TURNS * 4);
    assert_int_equal(read(0, &handle, sizeof handle), sizeof handle);
    expect_ok(rnl_event_import(suite_context(), &handle, &event));
    expect_ok(rnl_event_export(back, &handle));
    assert_int_equal(write(3, &handle, sizeof handle), sizeof handle);
    for (size_t i = 0; i < TURNS; i++) {
        be_told(0);
        expect_ok(rnl_enqueue_wait_event(suite_stream(), event));
        expect_ok(rnl_enqueue_copy_buffer(suite_stream(), copies, i * 4,
                                          buffer, 0, 4));
        expect_ok(rnl_enqueue_event_record(suite_stream(), back));
        tell(3);
    }
    suite_download(words, copies, TURNS * 4);
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(words[i], i + 1);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(back));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(copies));
    exit(55);
}

RNL_TEST(events_hand_a_word_to_and_fro)
{
    int to, from;
    suite_need(RNL_FEATURE_INTERPROCESS);
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_event event = new_event(), back = NULL;
    rnl_buffer buffer = new_shared(SIZE);
    rnl_ipc_handle handle = handle_of(buffer);
    pid_t child = start("child_copies_each_word", &handle, &to, &from);
    expect_ok(rnl_event_export(event, &handle));
    assert_int_equal(write(to, &handle, sizeof handle), sizeof handle);
    assert_int_equal(read(from, &handle, sizeof handle), sizeof handle);
    expect_ok(rnl_event_import(suite_context(), &handle, &back));
    for (uint32_t i = 1; i <= TURNS; i++) {
        expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 4, i, 4));
        expect_ok(rnl_enqueue_event_record(suite_stream(), event));
        tell(to);
        be_told(from);
        expect_ok(rnl_enqueue_wait_event(suite_stream(), back));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(test_wait(child), 55);
    close(to);
    close(from);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(back));
    expect_ok(rnl_buffer_release(buffer));
}

SUITE_CHILD(child_records_and_is_killed)
{
    rnl_event event = import_event();
    rnl_buffer word = NULL;
    record_shut(suite_stream(), event, &word);
    tell(3);
    for (;;)
        pause();
}

RNL_TEST(a_recorder_that_is_killed_fails_the_waits)
{
    int to, from;
    suite_need(RNL_FEATURE_INTERPROCESS);
    rnl_event event = new_event();
    rnl_ipc_handle handle;
    expect_ok(rnl_event_export(event, &handle));
    pid_t child = start("child_records_and_is_killed", &handle, &to, &from);
    be_told(from);
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &stream));
    expect_ok(rnl_enqueue_wait_event(stream, event));
    assert_int_equal(rnl_event_query(event), RNL_NOT_READY);
    kill(child, SIGKILL);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    assert_non_null(strstr(rnl_last_error()->message, "process"));
    expect_error(rnl_event_synchronize(event, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, "event");
    expect_error(rnl_event_query(event), RNL_ERROR_DEPENDENCY_FAILED,
                 "event");
    assert_int_equal(test_wait(child), -SIGKILL);
    // The event itself goes on.
    expect_ok(rnl_enqueue_event_record(suite_stream(), event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_event_release(event));
    close(to);
    close(from);
}

// Nobody waits for that record, whose place another one gets.
RNL_TEST(a_recorder_that_was_killed_holds_up_no_record)
{
    int to, from;
    suite_need(RNL_FEATURE_INTERPROCESS);
    rnl_event event = new_event();
    rnl_ipc_handle handle;
    expect_ok(rnl_event_export(event, &handle));
    pid_t child = start("child_records_and_is_killed", &handle, &to, &from);
    be_told(from);
    kill(child, SIGKILL);
    assert_int_equal(test_wait(child), -SIGKILL);
    for (int i = 0; i < ROUNDS; i++)
        expect_ok(rnl_enqueue_event_record(suite_stream(), event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
    close(to);
    close(from);
}

RNL_TEST(a_failed_stream_fails_the_waits_for_its_event)
{
    suite_need(RNL_FEATURE_INTERPROCESS);
    suite_need(RNL_FEATURE_CANCEL);
    rnl_event event = new_event();
    rnl_buffer word = NULL;
    rnl_stream failing = NULL, stream = NULL;
    expect_ok(rnl_stream_create(suite_context(), NULL, &failing));
    expect_ok(rnl_stream_create(suite_context(), NULL, &stream));
    record_shut(failing, event, &word);
    expect_ok(rnl_enqueue_wait_event(stream, event));
    expect_ok(rnl_stream_cancel(failing));
    expect_error(rnl_event_synchronize(event, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, "event");
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(failing));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(word));
}

RNL_TEST(what_an_interprocess_event_cannot_do)
{
    rnl_ipc_handle handle = {{0}};
    rnl_event event = suite_new_event(), none = NULL;
    rnl_buffer buffer = NULL;
    expect_error(rnl_event_export(event, &handle), RNL_ERROR_INVALID_ARGUMENT,
                 "event");
    expect_ok(rnl_event_release(event));
    suite_need(RNL_FEATURE_INTERPROCESS);
    expect_error(rnl_event_create(suite_context(),
                                  RNL_EVENT_OPTIONS(.interprocess = true,
                                                    .timing = true), &none),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_event_create(suite_context(),
                                  RNL_EVENT_OPTIONS(.interprocess = true,
                                                    .promise = true), &none),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    event = new_event();
    expect_error(rnl_event_export(event, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_handle");
    expect_ok(rnl_event_export(event, &handle));
    expect_error(rnl_buffer_import(suite_context(), &handle, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    assert_non_null(strstr(rnl_last_error()->message, "rnl_event_import"));
    expect_error(rnl_event_import(suite_context(), &handle, &none),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    assert_non_null(strstr(rnl_last_error()->message, "of this process"));
    expect_error(rnl_event_import(suite_context(), NULL, &none),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    assert_null(none);
    rnl_graph graph = NULL;
    rnl_node node;
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    expect_error(rnl_graph_add_node(graph, RNL_AT_START,
                                    RNL_NODE(.kind = RNL_NODE_EVENT_RECORD,
                                             .event = event), &node),
                 RNL_ERROR_INVALID_ARGUMENT, "event");
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_event_release(event));
}

// What no graph can hold makes a capture invalid, as a promise does.
static void expect_invalid(rnl_status (*call)(rnl_stream stream,
                                              rnl_event event))
{
    rnl_graph graph = NULL;
    rnl_event event = new_event();
    expect_ok(rnl_stream_begin_capture(suite_stream(), NULL));
    expect_error(call(suite_stream(), event), RNL_ERROR_CAPTURE_UNSUPPORTED,
                 "stream");
    expect_error(rnl_stream_end_capture(suite_stream(), &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    assert_null(graph);
    expect_ok(rnl_enqueue_event_record(suite_stream(), event));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_event_release(event));
}

RNL_TEST(an_interprocess_event_is_not_captured)
{
    suite_need(RNL_FEATURE_INTERPROCESS);
    suite_need(RNL_FEATURE_CAPTURE);
    expect_invalid(rnl_enqueue_event_record);
    expect_invalid(rnl_enqueue_external_record);
    expect_invalid(rnl_enqueue_external_wait);
}

// --- Misuse ----------------------------------------------------------------

RNL_TEST(each_damaged_bit_of_a_handle_is_noticed)
{
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_buffer buffer = new_shared(SIZE), none = NULL;
    const rnl_ipc_handle handle = handle_of(buffer);
    for (unsigned bit = 0; bit < 8 * sizeof handle.bytes; bit++) {
        rnl_ipc_handle damaged = handle;
        damaged.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        expect_error(rnl_buffer_import(suite_context(), &damaged, &none),
                     RNL_ERROR_INVALID_ARGUMENT, "handle");
    }
    expect_error(rnl_buffer_import(suite_context(), &handle, &none),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    assert_non_null(strstr(rnl_last_error()->message, "of this process"));
    assert_null(none);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(only_shared_buffers_are_exported)
{
    rnl_ipc_handle handle = {{1}}, before = handle;
    rnl_buffer plain = suite_new_buffer(64), slice = NULL;
    expect_error(rnl_buffer_export(plain, &handle),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_ok(rnl_buffer_release(plain));
    assert_memory_equal(&handle, &before, sizeof handle);
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_buffer buffer = new_shared(64);
    expect_ok(rnl_buffer_slice(buffer, 0, 64, &slice));
    expect_error(rnl_buffer_export(slice, &handle),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_error(rnl_buffer_export(buffer, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_handle");
    expect_error(rnl_buffer_set_release_stream(buffer, suite_stream()),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_enqueue_buffer_release(suite_stream(), buffer));
}

RNL_TEST(what_cannot_be_shared_is_refused)
{
    const rnl_buffer_options shared = {.struct_size = sizeof shared,
                                       .interprocess = true};
    rnl_buffer buffer = NULL;
    expect_error(rnl_enqueue_buffer_create(suite_stream(), 64, &shared,
                                           &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    rnl_ipc_handle handle = {{0}};
    expect_error(rnl_buffer_create(suite_context(), 0, &shared, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
    expect_error(rnl_buffer_create(suite_context(), (size_t)1 << 60, &shared,
                                   &buffer),
                 RNL_ERROR_OUT_OF_MEMORY, NULL);
    expect_error(
        rnl_buffer_create(suite_context(), 64,
                          RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST,
                                             .interprocess = true), &buffer),
        RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_buffer_import(suite_context(), NULL, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    expect_error(rnl_buffer_import(suite_context(), &handle, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    expect_error(rnl_buffer_import(suite_context(), &handle, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "handle");
    assert_null(buffer);
}

RNL_TEST(sharing_is_refused_where_there_is_none)
{
    rnl_ipc_handle handle = {{0}};
    rnl_buffer buffer = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_INTERPROCESS_MEMORY,
                             NULL) == RNL_OK)
        test_skip("%s shares memory with processes", test_device_name());
    expect_error(rnl_buffer_create(suite_context(), 64,
                                   RNL_BUFFER_OPTIONS(.interprocess = true),
                                   &buffer), RNL_ERROR_UNSUPPORTED, "options");
    expect_error(rnl_buffer_import(suite_context(), &handle, &buffer),
                 RNL_ERROR_UNSUPPORTED, "context");
    assert_null(buffer);
}
