// base/error_print: a failure as people read it.
#include "unit.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

// What rnl_error_print writes; the caller's to free.
static char *printed(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    rnl_error_print(file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void expect(const char *expected)
{
    char *text = printed();
    assert_string_equal(text, expected);
    free(text);
}

RNL_TEST(without_a_failure_one_line_is_printed)
{
    rnl_last_error_clear();
    expect("no call of this thread has failed\n");
}

RNL_TEST(a_refused_call_is_printed_with_the_next_step)
{
    thread_state.function = "rnl_enqueue_fill";
    fail_at(RNL_ERROR_OUT_OF_RANGE, "offset", "the fill leaves the buffer");
    fail_set_object("buffer 7 'pixels'");
    expect("error: the fill leaves the buffer\n"
           "  status    RNL_ERROR_OUT_OF_RANGE (4): an offset, size or index "
           "leaves its object\n"
           "  function  rnl_enqueue_fill, parameter offset\n"
           "  object    buffer 7 'pixels'\n"
           "  next      compare offset and size, in bytes, with the object's "
           "size\n");
}

RNL_TEST(failed_work_is_printed_with_its_site)
{
    thread_state.function = "rnl_stream_synchronize";
    fail_with(&(rnl_error){.status = RNL_ERROR_LAUNCH_FAILED,
                           .message = "the kernel trapped",
                           .native_code = 700,
                           .native_text = "CUDA_ERROR_ILLEGAL_ADDRESS",
                           .stream = "stream 4 'work'",
                           .operation = 3,
                           .operation_name = "scale",
                           .operation_label = "third step",
                           .site_file = "more.c",
                           .site_line = 14});
    expect("error: the kernel trapped\n"
           "  status    RNL_ERROR_LAUNCH_FAILED (17): a kernel failed while it "
           "ran\n"
           "  function  rnl_stream_synchronize\n"
           "  stream    stream 4 'work'\n"
           "  operation 3 of its stream, scale, 'third step'\n"
           "  enqueued  more.c:14\n"
           "  native    CUDA_ERROR_ILLEGAL_ADDRESS (700)\n"
           "  next      use the stream again after "
           "rnl_stream_reset_and_wait\n");
}

RNL_TEST(a_log_is_printed_whole_behind_a_margin)
{
    thread_state.function = "rnl_module_compile";
    fail_compiler(RNL_ERROR_COMPILE_FAILED, "it does not compile",
                  "a.cu:1: error: no\n    x\n    ^");
    char *text = printed();
    assert_non_null(strstr(text, "  log\n"
                                 "    | a.cu:1: error: no\n"
                                 "    |     x\n"
                                 "    |     ^\n"
                                 "  next      correct the lines that the log "
                                 "names\n"));
    free(text);
    fail_set_log("one line\n");
    text = printed();
    assert_non_null(strstr(text, "    | one line\n  next"));
    free(text);
}

// A status without advice ends with what is known.
RNL_TEST(nothing_is_invented_where_there_is_no_advice)
{
    thread_state.function = NULL;
    fail(RNL_ERROR_IO, "the disk is full");
    expect("error: the disk is full\n"
           "  status    RNL_ERROR_IO (21): a file could not be read or "
           "written\n");
}
