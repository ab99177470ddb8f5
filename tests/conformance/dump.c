// Dumps: what the compiler shows of its work, and where it goes.
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "extern \"C\" __global__ void dumped(int *p, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) p[i] = p[i] * 3 + 1;\n"
    "}\n";

// hiprtc shows nothing of its work.
static void need_dumps(void)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_hip())
        return;
    rnl_module module = NULL;
    expect_error(
        rnl_module_compile(suite_context(), source,
                           RNL_MODULE_OPTIONS(
                               .dump = RNL_DUMP(.to_stdout = true)),
                           &module),
        RNL_ERROR_UNSUPPORTED, "options.dump.kinds");
    assert_null(module);
    test_skip("hiprtc keeps its work to itself");
}

// Compiles with a dump.
static rnl_status compile(const rnl_dump *dump, rnl_module *out_module)
{
    need_dumps();
    *out_module = NULL;
    return rnl_module_compile(suite_context(), source,
                              RNL_MODULE_OPTIONS(.dump = dump), out_module);
}

static const char *assembly_name(void)
{
    return suite_is_cpu() ? "s" : "ptx";
}

// --- Callbacks -------------------------------------------------------------

// What came, in order.
struct texts {
    char names[256];  // each with a space behind it
    char *last;
    int count, stop_at;
    bool wrong;       // something that no text may be
    rnl_status inside;
    pthread_t thread;
};

static bool keep(const rnl_dump_text *text, void *user_data)
{
    struct texts *texts = user_data;
    size_t used = strlen(texts->names);
    snprintf(texts->names + used, sizeof texts->names - used, "%s ",
             text->name);
    texts->wrong |= text->struct_size != sizeof *text ||
                    text->text[text->size] != '\0' ||
                    strlen(text->text) != text->size;
    free(texts->last);
    texts->last = strdup(text->text);
    texts->thread = pthread_self();
    texts->inside = rnl_stream_synchronize(NULL, RNL_FOREVER);
    return ++texts->count != texts->stop_at;
}

RNL_TEST(the_assembly_goes_to_a_callback)
{
    rnl_module module = NULL;
    struct texts texts = {.inside = RNL_OK};
    expect_ok(compile(RNL_DUMP(.write = keep, .user_data = &texts), &module));
    char expected[16];
    snprintf(expected, sizeof expected, "%s ", assembly_name());
    assert_string_equal(texts.names, expected);
    assert_false(texts.wrong);
    assert_non_null(strstr(texts.last, "dumped"));
    assert_true(pthread_equal(texts.thread, pthread_self()));
    assert_int_equal(texts.inside, RNL_ERROR_NOT_PERMITTED);
    free(texts.last);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_dump_comes_though_the_caches_have_the_source)
{
    rnl_module module = NULL;
    rnl_function function = NULL;
    struct texts texts = {0};
    const rnl_module_options *options = RNL_MODULE_OPTIONS(
        .dump = RNL_DUMP(.write = keep, .user_data = &texts));
    for (int i = 0; i < 2; i++) {
        expect_ok(compile(NULL, &module));
        expect_ok(rnl_module_release(module));
        expect_ok(compile(options->dump, &module));
        expect_ok(rnl_module_release(module));
        expect_ok(rnl_function_compile(suite_context(), source, "dumped", NULL,
                                       &function));
        expect_ok(rnl_function_release(function));
        expect_ok(rnl_function_compile(suite_context(), source, "dumped",
                                       options, &function));
        expect_ok(rnl_function_release(function));
        assert_int_equal(texts.count, 2 * (i + 1));
    }
    free(texts.last);
}

RNL_TEST(a_callback_ends_the_compilation)
{
    rnl_module module = NULL;
    struct texts texts = {.stop_at = 1};
    expect_error(compile(RNL_DUMP(.write = keep, .user_data = &texts),
                         &module),
                 RNL_ERROR_IO, "options.dump.write");
    assert_null(module);
    assert_int_equal(texts.count, 1);
    free(texts.last);
}

RNL_TEST(what_does_not_compile_is_not_dumped)
{
    need_dumps();
    rnl_module module = NULL;
    struct texts texts = {0};
    suite_need(RNL_FEATURE_COMPILE);
    expect_error(rnl_module_compile(
                     suite_context(), "this is no kernel",
                     RNL_MODULE_OPTIONS(.dump = RNL_DUMP(.write = keep,
                                                         .user_data = &texts)),
                     &module),
                 RNL_ERROR_COMPILE_FAILED, NULL);
    assert_int_equal(texts.count, 0);
}

RNL_TEST(a_binary_alone_is_dumped)
{
    need_dumps();
    rnl_module module = NULL;
    struct texts texts = {0};
    suite_need(RNL_FEATURE_COMPILE);
    expect_ok(rnl_module_compile(
        suite_context(), source,
        RNL_MODULE_OPTIONS(.binary_only = true,
                           .dump = RNL_DUMP(.write = keep,
                                            .user_data = &texts)), &module));
    assert_int_equal(texts.count, 1);
    free(texts.last);
    expect_ok(rnl_module_release(module));
}

// --- Stages ----------------------------------------------------------------

// False where it is refused, on a GPU. Skips where no clang compiles for a cpu.
static bool compile_ir(struct texts *texts, uint32_t kinds,
                       const char *const *options, size_t count)
{
    rnl_module module = NULL;
    suite_need(RNL_FEATURE_COMPILE);
    rnl_status status = rnl_module_compile(
        suite_context(), source,
        RNL_MODULE_OPTIONS(.options = options, .option_count = count,
                           .dump = RNL_DUMP(.kinds = kinds, .write = keep,
                                            .user_data = texts)), &module);
    if (status == RNL_ERROR_UNSUPPORTED) {
        expect_error(status, RNL_ERROR_UNSUPPORTED, "options.dump.kinds");
        assert_int_equal(texts->count, 0);
        if (suite_is_cpu())
            test_skip("%s", rnl_last_error()->message);
        return false;
    }
    expect_ok(status);
    expect_ok(rnl_module_release(module));
    return true;
}

RNL_TEST(ir_comes_in_its_stages)
{
    static const char *const scalar = "--tier=F";
    struct texts texts = {0};
    if (!compile_ir(&texts, RNL_DUMP_IR | RNL_DUMP_ASSEMBLY, NULL, 0))
        return;
    assert_string_equal(texts.names,
                        "source.ll threads.ll vectors.ll finished.ll s ");
    free(texts.last);
    texts = (struct texts){0};
    compile_ir(&texts, RNL_DUMP_IR, &scalar, 1);
    assert_string_equal(texts.names, "source.ll finished.ll ");
    assert_non_null(strstr(texts.last, "define "));
    assert_false(texts.wrong);
    free(texts.last);
}

RNL_TEST(machine_code_is_disassembled_or_the_reason_told)
{
    rnl_module module = NULL;
    struct texts texts = {0};
    rnl_status status = compile(RNL_DUMP(.kinds = RNL_DUMP_MACHINE,
                                         .write = keep, .user_data = &texts),
                                &module);
    if (status != RNL_OK) {
        expect_error(status, RNL_ERROR_UNSUPPORTED, "options.dump.kinds");
        assert_null(module);
        assert_int_equal(texts.count, 0);
        assert_non_null(strstr(rnl_last_error()->message,
                               suite_is_cpu() ? "RNL_DUMP_ASSEMBLY"
                                              : "nvdisasm"));
        return;
    }
    assert_string_equal(texts.names, "sass ");
    assert_non_null(strstr(texts.last, "dumped"));
    assert_false(texts.wrong);
    free(texts.last);
    expect_ok(rnl_module_release(module));
}

// --- Files -----------------------------------------------------------------

static char folder[] = "/tmp/runnel-dump-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][64];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

// Reads and removes one; "" where there is none.
static const char *take_file(const char *name)
{
    static char text[1 << 18];
    FILE *file = fopen(in_folder(name), "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    if (file)
        fclose(file);
    unlink(in_folder(name));
    return text;
}

RNL_TEST(the_assembly_goes_to_a_file)
{
    rnl_module module = NULL;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(in_folder("out.txt"), "w");
        assert_non_null(file);
        fputs("what was there before", file);
        fclose(file);
        expect_ok(compile(RNL_DUMP(.path = in_folder("out.txt")), &module));
        const char *text = take_file("out.txt");
        assert_non_null(strstr(text, "dumped"));
        assert_null(strstr(text, "what was there before"));
        expect_ok(rnl_module_release(module));
    }
    rmdir(folder);
}

RNL_TEST(stages_go_to_files_of_their_own)
{
    rnl_module module = NULL;
    assert_non_null(mkdtemp(folder));
    rnl_status status = compile(
        RNL_DUMP(.kinds = RNL_DUMP_IR | RNL_DUMP_ASSEMBLY,
                 .path = in_folder("k")), &module);
    bool stage = strstr(take_file("k.finished.ll"), "define ") != NULL;
    bool assembly = strstr(take_file("k.s"), "dumped") != NULL;
    take_file("k.source.ll");
    take_file("k.threads.ll");
    take_file("k.vectors.ll");
    assert_int_equal(rmdir(folder), 0);
    if (status != RNL_OK) {
        expect_error(status, RNL_ERROR_UNSUPPORTED, "options.dump.kinds");
        assert_false(stage || assembly);
        return;
    }
    assert_true(stage && assembly);
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_dump_that_cannot_be_written_is_an_error)
{
    static const struct {
        const char *path;
        int error;
    } rows[] = {
        {"/nonexistent/a.s", ENOENT}, {"/tmp", EISDIR}, {"/dev/full", ENOSPC}};
    rnl_module module = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_error(compile(RNL_DUMP(.path = rows[i].path), &module),
                     RNL_ERROR_IO, "options.dump.path");
        assert_int_equal(rnl_last_error()->native_code, rows[i].error);
        assert_non_null(strstr(rnl_last_error()->message, rows[i].path));
        assert_null(module);
    }
}

// --- Standard output -------------------------------------------------------

// What the program prints goes to `file` until the other is called.
static int output_to(int file)
{
    fflush(stdout);
    int before = dup(STDOUT_FILENO);
    assert_true(before >= 0 && file >= 0);
    assert_true(dup2(file, STDOUT_FILENO) >= 0);
    close(file);
    return before;
}

static void output_back(int before)
{
    fflush(stdout);
    clearerr(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
}

RNL_TEST(the_assembly_goes_to_standard_output)
{
    need_dumps();
    rnl_module module = NULL;
    assert_non_null(mkdtemp(folder));
    suite_need(RNL_FEATURE_COMPILE);
    suite_context();
    int before = output_to(open(in_folder("out"), O_RDWR | O_CREAT, 0600));
    printf("first");
    rnl_status status = compile(RNL_DUMP(.to_stdout = true), &module);
    printf("last");
    output_back(before);
    const char *text = take_file("out"), *log = NULL;
    rmdir(folder);
    expect_ok(status);
    assert_int_equal(strncmp(text, "first", 5), 0);
    assert_non_null(strstr(text, "dumped"));
    assert_string_equal(text + strlen(text) - 5, "\nlast");
    assert_null(strstr(text, "--- kernel.cu"));
    expect_ok(rnl_module_log(module, &log));
    assert_null(strstr(log, "dumped"));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(texts_on_standard_output_have_heads)
{
    rnl_module module = NULL;
    assert_non_null(mkdtemp(folder));
    suite_need(RNL_FEATURE_COMPILE);
    suite_context();
    int before = output_to(open(in_folder("out"), O_RDWR | O_CREAT, 0600));
    rnl_status status = compile(
        RNL_DUMP(.kinds = RNL_DUMP_IR | RNL_DUMP_ASSEMBLY, .to_stdout = true),
        &module);
    output_back(before);
    const char *text = take_file("out");
    rmdir(folder);
    if (status == RNL_ERROR_UNSUPPORTED) {
        assert_string_equal(text, "");
        test_skip("%s", rnl_last_error()->message);
    }
    expect_ok(status);
    assert_non_null(strstr(text, "; --- kernel.cu: finished.ll\n"));
    assert_non_null(strstr(text, "\n# --- kernel.cu: s\n"));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_standard_output_that_is_full_is_an_error)
{
    need_dumps();
    rnl_module module = NULL;
    suite_need(RNL_FEATURE_COMPILE);
    suite_context();
    int before = output_to(open("/dev/full", O_WRONLY));
    rnl_status status = compile(RNL_DUMP(.to_stdout = true), &module);
    output_back(before);
    expect_error(status, RNL_ERROR_IO, "options.dump.to_stdout");
    assert_null(module);
}

RNL_TEST(a_reader_that_is_gone_is_an_error)
{
    need_dumps();
    rnl_module module = NULL;
    int ends[2];
    suite_need(RNL_FEATURE_COMPILE);
    suite_context();
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    int before = output_to(ends[1]);
    rnl_status status = compile(RNL_DUMP(.to_stdout = true), &module);
    output_back(before);
    expect_error(status, RNL_ERROR_IO, "options.dump.to_stdout");
    assert_int_equal(rnl_last_error()->native_code, EPIPE);
}

// --- What cannot be --------------------------------------------------------

RNL_TEST(a_dump_that_cannot_be_is_refused)
{
    rnl_module module = NULL;
    const rnl_dump no_size = {.path = "x.s"};
    expect_error(compile(RNL_DUMP(.path = ""), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options.dump.path");
    expect_error(compile(RNL_DUMP(.kinds = RNL_DUMP_ASSEMBLY), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options.dump");
    expect_error(compile(RNL_DUMP(.kinds = 8, .to_stdout = true), &module),
                 RNL_ERROR_INVALID_ARGUMENT, "options.dump.kinds");
    expect_error(compile(&no_size, &module), RNL_ERROR_INVALID_ARGUMENT,
                 "options.dump");
    assert_null(module);
}
