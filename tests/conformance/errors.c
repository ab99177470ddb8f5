// Statuses, the details of failures, options structs, logging, version.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static const struct {
    rnl_status status;
    int number;
    const char *name, *text;
} statuses[] = {
#define ROW(name, number, sentence) {RNL_##name, number, #name, sentence},
    RNL_STATUS_MAP(ROW)
#undef ROW
};
enum { STATUS_COUNT = sizeof statuses / sizeof statuses[0] };

RNL_TEST(every_status_has_a_name_and_a_sentence)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_int_equal(statuses[i].status, statuses[i].number);
        assert_string_equal(rnl_status_name(statuses[i].status),
                            statuses[i].name);
        assert_string_equal(rnl_status_text(statuses[i].status),
                            statuses[i].text);
    }
}

RNL_TEST(a_number_that_is_no_status_is_unknown)
{
    const int numbers[] = {-1, STATUS_COUNT, 1000, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 5; i++) {
        assert_string_equal(rnl_status_name((rnl_status)numbers[i]),
                            "UNKNOWN");
        const char *text = rnl_status_text((rnl_status)numbers[i]);
        assert_non_null(text);
        assert_true(text[0] != '\0');
    }
}

RNL_TEST(the_version_is_that_of_the_headers)
{
    assert_int_equal(rnl_version(), RNL_VERSION);
}

RNL_TEST(without_a_failure_the_details_are_empty)
{
    rnl_last_error_clear();
    const rnl_error *error = rnl_last_error();
    assert_non_null(error);
    assert_true(error->struct_size >= sizeof *error);
    assert_int_equal(error->status, RNL_OK);
    assert_string_equal(error->message, "");
    assert_null(error->log);
    assert_null(error->parameter);
}

RNL_TEST(success_leaves_the_last_failure_alone)
{
    size_t count;
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    expect_ok(rnl_device_count(NULL, &count));
    assert_int_equal(rnl_last_error()->status, RNL_ERROR_NOT_FOUND);
    assert_string_equal(rnl_last_error()->function, "rnl_device_count");
    rnl_last_error_clear();
    assert_int_equal(rnl_last_error()->status, RNL_OK);
}

RNL_TEST(a_failure_replaces_the_one_before_wholly)
{
    size_t count;
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_release(stream));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE,
                 "stream");
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_null(rnl_last_error()->object);
    assert_null(rnl_last_error()->stream);
    assert_null(rnl_last_error()->log);
    assert_int_equal(rnl_last_error()->operation, 0);
}

RNL_TEST(a_library_on_top_reports_its_failures_likewise)
{
    rnl_error error = {
        .struct_size = sizeof error, .status = RNL_ERROR_TIMED_OUT,
        .native_code = 7, .native_text = "far away", .message = "rank 1 hangs",
        .function = "rnl_other_call", .parameter = "peer", .object = "comm 3",
    };
    assert_int_equal(rnl_last_error_set(&error), RNL_ERROR_TIMED_OUT);
    const rnl_error *last = rnl_last_error();
    assert_int_equal(last->status, RNL_ERROR_TIMED_OUT);
    assert_int_equal(last->native_code, 7);
    assert_string_equal(last->native_text, "far away");
    assert_string_equal(last->message, "rank 1 hangs");
    assert_string_equal(last->function, "rnl_other_call");
    assert_string_equal(last->parameter, "peer");
    assert_string_equal(last->object, "comm 3");
    error = *last;
    error.status = RNL_ERROR_DRIVER;
    assert_int_equal(rnl_last_error_set(&error), RNL_ERROR_DRIVER);
    assert_string_equal(rnl_last_error()->message, "rank 1 hangs");
    assert_string_equal(rnl_last_error()->object, "comm 3");
    error.message = NULL;
    assert_int_equal(rnl_last_error_set(&error), RNL_ERROR_DRIVER);
    assert_string_equal(rnl_last_error()->message,
                        rnl_status_text(RNL_ERROR_DRIVER));
    error.status = RNL_NOT_READY;
    expect_error(rnl_last_error_set(&error), RNL_ERROR_INVALID_ARGUMENT,
                 "error");
    error.struct_size = 0;
    expect_error(rnl_last_error_set(&error), RNL_ERROR_INVALID_ARGUMENT,
                 "error");
    expect_error(rnl_last_error_set(NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "error");
}

RNL_TEST(text_from_outside_cannot_break_a_message)
{
    static char name[100000];
    size_t count;
    memset(name, 'x', sizeof name - 1);
    expect_error(rnl_device_count(name, &count), RNL_ERROR_NOT_FOUND, "api");
    assert_true(strlen(rnl_last_error()->message) < sizeof name);
    expect_error(rnl_device_count("%s%n%s%d", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_non_null(strstr(rnl_last_error()->message, "%s%n%s%d"));
}

static void *fail_elsewhere(void *unused)
{
    size_t count;
    (void)unused;
    if (rnl_last_error()->status != RNL_OK)
        return NULL;
    rnl_device_count("vulcan", &count);
    return rnl_last_error()->status == RNL_ERROR_NOT_FOUND ? "yes" : NULL;
}

RNL_TEST(every_thread_has_its_own_failure)
{
    pthread_t thread;
    void *result = NULL;
    expect_error(rnl_stream_query(NULL), RNL_ERROR_INVALID_HANDLE, "stream");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, &result);
    assert_non_null(result);
    assert_int_equal(rnl_last_error()->status, RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(a_refusal_shows_the_object_and_its_label)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), 64,
                                RNL_BUFFER_OPTIONS(.label = "velocities"),
                                &buffer));
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, 65, 0, 1),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    const rnl_error *error = rnl_last_error();
    bool named = (error->object && strstr(error->object, "velocities")) ||
                 strstr(error->message, "velocities");
    if (!named)
        fail_msg("the label is nowhere in: %s", error->message);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_refusal_of_a_handle_is_a_proper_sentence)
{
    rnl_event event = suite_new_event();
    expect_ok(rnl_event_release(event));
    expect_error(rnl_event_query(event), RNL_ERROR_INVALID_HANDLE, "event");
    assert_string_equal(rnl_last_error()->message,
                        "'event' is an event that was released");
    expect_error(rnl_event_query((rnl_event)suite_stream()),
                 RNL_ERROR_INVALID_HANDLE, "event");
    assert_string_equal(rnl_last_error()->message,
                        "'event' is a stream where an event is needed");
}

// --- Options structs -------------------------------------------------------

// A struct that a newer program may pass: longer than this library's.
struct newer_stream_options {
    rnl_stream_options options;
    uint64_t new_field;
};

RNL_TEST(a_longer_struct_with_nothing_new_is_accepted)
{
    struct newer_stream_options newer = {
        .options = {.struct_size = sizeof newer, .label = "newer"}};
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(suite_context(), &newer.options, &stream));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_longer_struct_with_something_new_is_refused)
{
    struct newer_stream_options newer = {
        .options = {.struct_size = sizeof newer}, .new_field = 1};
    rnl_stream stream = NULL;
    rnl_status status =
        rnl_stream_create(suite_context(), &newer.options, &stream);
    assert_true(status == RNL_ERROR_INVALID_ARGUMENT ||
                status == RNL_ERROR_UNSUPPORTED);
    assert_null(stream);
}

RNL_TEST(a_shorter_struct_means_defaults_for_the_rest)
{
    rnl_stream_options older = {
        .struct_size = offsetof(rnl_stream_options, label),
        .label = (const char *)1};
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_create(suite_context(), &older, &stream));
    expect_ok(rnl_stream_get_info(stream, &info));
    assert_string_equal(info.label, "");
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(absurd_struct_sizes_are_refused)
{
    const size_t sizes[] = {0, 1, 7, SIZE_MAX, SIZE_MAX / 2, 1 << 30};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        rnl_context context = NULL;
        rnl_stream stream = NULL;
        rnl_event event = NULL;
        rnl_buffer buffer = NULL;
        rnl_context_options a = {.struct_size = sizes[i]};
        rnl_stream_options b = {.struct_size = sizes[i]};
        rnl_event_options c = {.struct_size = sizes[i]};
        rnl_buffer_options d = {.struct_size = sizes[i]};
        expect_error(rnl_context_create(suite_device(), &a, &context),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_stream_create(suite_context(), &b, &stream),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_event_create(suite_context(), &c, &event),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_buffer_create(suite_context(), 16, &d, &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        assert_true(!context && !stream && !event && !buffer);
    }
}

RNL_TEST(labels_are_copied)
{
    char label[] = "before";
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = label), &stream));
    memcpy(label, "AFTER!", 6);
    expect_ok(rnl_stream_get_info(stream, &info));
    assert_string_equal(info.label, "before");
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_label_of_a_megabyte_is_no_crash)
{
    size_t size = 1 << 20;
    char *label = malloc(size);
    rnl_stream stream = NULL;
    assert_non_null(label);
    memset(label, 'l', size - 1);
    label[size - 1] = '\0';
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.label = label), &stream));
    free(label);
    expect_ok(rnl_stream_release(stream));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE,
                 "stream");
}

// --- Log -------------------------------------------------------------------

struct heard {
    _Atomic int count;
    rnl_log_level least;
    char text[512];
};

static void hear(rnl_log_level level, const char *message, void *user_data)
{
    struct heard *heard = user_data;
    if (level > heard->least)
        heard->least = level;
    snprintf(heard->text, sizeof heard->text, "%s", message);
    atomic_fetch_add(&heard->count, 1);
}

RNL_TEST(failing_calls_are_logged_at_debug_level)
{
    static struct heard heard;
    size_t count;
    expect_ok(rnl_log_set(hear, RNL_LOG_DEBUG, &heard));
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_true(heard.count >= 1);
    assert_non_null(strstr(heard.text, "vulcan"));
    assert_null(strchr(heard.text, '\n'));
    int before = heard.count;
    expect_ok(rnl_log_set(NULL, RNL_LOG_DEBUG, NULL));
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_int_equal(heard.count, before);
}

RNL_TEST(less_important_messages_are_not_sent)
{
    static struct heard heard;
    size_t count;
    expect_ok(rnl_log_set(hear, RNL_LOG_WARNING, &heard));
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_int_equal(heard.count, 0);
    expect_ok(rnl_log_set(NULL, RNL_LOG_ERROR, NULL));
}

RNL_TEST(a_log_level_that_does_not_exist_is_refused)
{
    static struct heard heard;
    const int levels[] = {0, -1, 5, 100};
    for (int i = 0; i < 4; i++)
        expect_error(rnl_log_set(hear, (rnl_log_level)levels[i], &heard),
                     RNL_ERROR_INVALID_ARGUMENT, "level");
}

// --- Allocator -------------------------------------------------------------

static void *give_nothing(size_t size, size_t alignment, void *user_data)
{
    (void)size;
    (void)alignment;
    (void)user_data;
    return NULL;
}

static void take_back(void *memory, size_t size, void *user_data)
{
    (void)memory;
    (void)size;
    (void)user_data;
}

RNL_TEST(an_allocator_is_refused_while_memory_is_held)
{
    suite_context();
    expect_error(rnl_allocator_set(RNL_ALLOCATOR(.allocate = give_nothing,
                                                 .release = take_back)),
                 RNL_ERROR_INVALID_STATE, NULL);
    expect_error(rnl_allocator_set(NULL), RNL_ERROR_INVALID_STATE, NULL);
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(an_allocator_with_holes_is_refused)
{
    rnl_allocator no_size = {.struct_size = 0, .allocate = give_nothing,
                             .release = take_back};
    suite_expect_empty();
    expect_error(rnl_allocator_set(RNL_ALLOCATOR(.allocate = give_nothing)),
                 RNL_ERROR_INVALID_ARGUMENT, "allocator");
    expect_error(rnl_allocator_set(RNL_ALLOCATOR(.release = take_back)),
                 RNL_ERROR_INVALID_ARGUMENT, "allocator");
    expect_error(rnl_allocator_set(&no_size), RNL_ERROR_INVALID_ARGUMENT,
                 "allocator");
    expect_ok(rnl_allocator_set(NULL));
}

RNL_TEST(trim_says_what_is_held)
{
    size_t held = 77;
    suite_context();
    expect_ok(rnl_trim(&held));
    assert_true(held > 0);
    expect_ok(rnl_trim(NULL));
}

// --- Silence ---------------------------------------------------------------

RNL_TEST(failures_print_nothing)
{
    fflush(NULL);
    FILE *file = tmpfile();
    assert_non_null(file);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    size_t count;
    rnl_module module = NULL;
    rnl_status status[4];
    status[0] = rnl_device_count("vulcan", &count);
    status[1] = rnl_stream_query((rnl_stream)(uintptr_t)0x1234);
    status[2] = rnl_enqueue_fill(NULL, NULL, 9, 9, 9, 9);
    status[3] = rnl_module_compile(suite_context(), "int x = ;", NULL,
                                   &module);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    fseek(file, 0, SEEK_END);
    long printed = ftell(file);
    fclose(file);
    for (int i = 0; i < 4; i++)
        assert_int_not_equal(status[i], RNL_OK);
    assert_int_equal(printed, 0);
}
