// base/fail: what a failure records, and where.
#include "unit.h"

#include "base/fail.h"


#include <pthread.h>
#include <string.h>

RNL_TEST(a_failure_returns_its_status)
{
    thread_state.function = "rnl_something";
    assert_int_equal(fail(RNL_ERROR_IO, "the %s is %d", "answer", 42),
                     RNL_ERROR_IO);
    const rnl_error *error = rnl_last_error();
    assert_int_equal(error->status, RNL_ERROR_IO);
    assert_string_equal(error->message, "the answer is 42");
    assert_string_equal(error->function, "rnl_something");
    assert_null(error->parameter);
    assert_null(error->object);
    assert_int_equal(error->native_code, 0);
}

RNL_TEST(details_are_added)
{
    fail_at(RNL_ERROR_DRIVER, "stream", "the driver failed");
    fail_set_object("stream %d '%s'", 7, "upload");
    fail_set_native(-12, "ENOMEM");
    fail_set_log("first line\nsecond line\n");
    const rnl_error *error = rnl_last_error();
    assert_string_equal(error->parameter, "stream");
    assert_string_equal(error->object, "stream 7 'upload'");
    assert_int_equal(error->native_code, -12);
    assert_string_equal(error->native_text, "ENOMEM");
    assert_string_equal(error->log, "first line\nsecond line\n");
}

RNL_TEST(the_next_failure_starts_from_nothing)
{
    fail_at(RNL_ERROR_DRIVER, "stream", "the driver failed");
    fail_set_object("stream 7");
    fail_set_native(5, "five");
    fail_set_log("a log");
    fail(RNL_ERROR_IO, "something else");
    const rnl_error *error = rnl_last_error();
    assert_null(error->parameter);
    assert_null(error->object);
    assert_null(error->native_text);
    assert_int_equal(error->native_code, 0);
    assert_null(error->log);
    rnl_last_error_clear();
    assert_int_equal(rnl_last_error()->status, RNL_OK);
    assert_string_equal(rnl_last_error()->message, "");
}

static bool is_utf8(const char *text)
{
    for (const unsigned char *at = (const void *)text; *at; at++) {
        int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if (*at >= 0x80 && *at < 0xc0)
            return false;
        for (; more > 0; more--)
            if ((*++at & 0xc0) != 0x80)
                return false;
    }
    return true;
}

RNL_TEST(long_texts_are_cut_on_a_character)
{
    static char text[3 * 2000 + 1];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        fail_at(RNL_ERROR_IO, text, "a message");
        assert_true(is_utf8(rnl_last_error()->parameter));
        fail_set_native(1, text);
        assert_true(is_utf8(rnl_last_error()->native_text));
        fail_with(&(rnl_error){.status = RNL_ERROR_IO, .message = text,
                               .stream = text, .operation_name = text,
                               .operation_label = text});
        assert_true(is_utf8(rnl_last_error()->message));
        assert_true(is_utf8(rnl_last_error()->stream));
        assert_true(is_utf8(rnl_last_error()->operation_name));
        assert_true(is_utf8(rnl_last_error()->operation_label));
    }
}

RNL_TEST(a_long_formatted_message_is_cut_on_a_character)
{
    static char text[3 * 2000 + 1];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        fail(RNL_ERROR_IO, "%s", text);
        assert_true(is_utf8(rnl_last_error()->message));
        fail_set_object("%s", text);
        assert_true(is_utf8(rnl_last_error()->object));
    }
}

RNL_TEST(a_log_of_a_megabyte_is_kept_whole)
{
    enum { SIZE = 1 << 20 };
    static char log[SIZE + 1];
    memset(log, 'l', SIZE);
    fail(RNL_ERROR_COMPILE_FAILED, "it does not compile");
    fail_set_log(log);
    assert_int_equal(strlen(rnl_last_error()->log), SIZE);
    rnl_last_error_clear();
    assert_null(rnl_last_error()->log);
}

RNL_TEST(calls_inside_a_callback_are_refused)
{
    assert_int_equal(enter_call("rnl_f"), RNL_OK);
    callback_begin();
    callback_begin();
    assert_int_equal(enter_call("rnl_f"), RNL_ERROR_NOT_PERMITTED);
    callback_end();
    assert_int_equal(enter_call("rnl_g"), RNL_ERROR_NOT_PERMITTED);
    assert_non_null(strstr(rnl_last_error()->message, "rnl_g"));
    callback_end();
    assert_int_equal(enter_call("rnl_f"), RNL_OK);
}

static void *fail_with_log(void *unused)
{
    // The log is given back when the thread ends; the leak check sees.
    fail(RNL_ERROR_COMPILE_FAILED, "it does not compile");
    fail_set_log("a log that nobody clears");
    return unused;
}

RNL_TEST(a_thread_that_ends_gives_its_log_back)
{
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fail_with_log, NULL),
                         0);
        pthread_join(thread, NULL);
    }
}
