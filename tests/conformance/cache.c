// The disk cache as its users see it.
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static rnl_status count_entry(const rnl_cache_entry *entry, void *count)
{
    if (strlen(entry->name) != 32 || entry->size == 0)
        return RNL_ERROR_INTERNAL;
    if (!entry->damaged && (!entry->api[0] || !entry->source[0]))
        return RNL_ERROR_INTERNAL;
    ++*(size_t *)count;
    return RNL_OK;
}

static rnl_status refuse_entry(const rnl_cache_entry *entry, void *count)
{
    (void)entry;
    ++*(size_t *)count;
    return RNL_ERROR_IO;
}

static rnl_status call_from_visit(const rnl_cache_entry *entry, void *status)
{
    (void)entry;
    *(rnl_status *)status = rnl_cache_prune(0, NULL, NULL);
    return RNL_ERROR_IO;
}

RNL_TEST(the_cache_has_a_place_or_a_reason)
{
    rnl_cache_info info = {.struct_size = sizeof info};
    expect_ok(rnl_cache_get_info(&info));
    assert_true(info.path[0] || info.reason[0]);
}

RNL_TEST(what_was_compiled_is_in_the_cache)
{
    rnl_cache_info info = {.struct_size = sizeof info};
    expect_ok(rnl_cache_get_info(&info));
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void kept(int *p) { *p = 81; }\n", "kept");
    expect_ok(rnl_function_release(function));
    if (info.reason[0])
        test_skip("there is no cache: %s", info.reason);
    size_t count = 0;
    rnl_status status = RNL_OK;
    expect_ok(rnl_cache_visit(count_entry, &count));
    assert_true(count > 0);
    count = 0;
    assert_int_equal(rnl_cache_visit(refuse_entry, &count), RNL_ERROR_IO);
    assert_int_equal(count, 1);
    assert_int_equal(rnl_cache_visit(call_from_visit, &status), RNL_ERROR_IO);
    assert_int_equal(status, RNL_ERROR_NOT_PERMITTED);
}

static void put_header(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_kernel_stores(const char *option, int value)
{
    rnl_function function = NULL;
    expect_ok(rnl_function_compile(
        suite_context(),
        "#include <x.h>\n"
        "#if __has_include(<more.h>)\n#include <more.h>\n#endif\n"
        "extern \"C\" __global__ void k(int *to) { *to = X; }\n",
        "k", RNL_MODULE_OPTIONS(.options = &option, .option_count = 1),
        &function));
    rnl_buffer buffer = suite_ints(1, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(buffer)));
    suite_expect_ints(buffer, 1, value);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_function_follows_the_files_of_its_source)
{
    char folder[] = "/tmp/runnel-includes-XXXXXX";
    char first[64], more[64], option[64];
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("the compiler reads other folders");
    assert_non_null(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/x.h", folder);
    snprintf(more, sizeof more, "%s/more.h", folder);
    snprintf(option, sizeof option, "-I%s", folder);
    for (int round = 0; round < 2; round++) {
        put_header(first, "#define X 1\n");
        expect_kernel_stores(option, 1);
        put_header(first, "#define X 2\n");
        expect_kernel_stores(option, 2);
        put_header(more, "#undef X\n#define X 3\n");
        expect_kernel_stores(option, 3);
        remove(more);
    }
    remove(first);
    rmdir(folder);
}

static const char large[] =
    "__device__ char large[1 << 29];\n"
    "extern \"C\" __global__ void f(char *p) { *p = large[*p]; }\n";

static rnl_status find_large(const rnl_cache_entry *entry, void *count)
{
    *(size_t *)count +=
        !entry->damaged && strcmp(entry->source, "large.cu") == 0;
    return RNL_OK;
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// The binary is whole: it is no better when it is made again.
RNL_TEST(an_entry_stays_when_there_is_no_memory_to_load_it)
{
    rnl_cache_info info = {.struct_size = sizeof info};
    rnl_module module;
    struct rlimit before, less;
    size_t count = 0, left = 0;
    test_need_faults();
    if (!suite_is_cpu())
        test_skip("a driver loads it elsewhere");
    suite_need(RNL_FEATURE_COMPILE);
    const rnl_module_options *options =
        RNL_MODULE_OPTIONS(.name = "large.cu");
    expect_ok(rnl_module_compile(suite_context(), large, options, &module));
    expect_ok(rnl_module_release(module));
    expect_ok(rnl_cache_get_info(&info));
    if (info.reason[0])
        test_skip("there is no cache: %s", info.reason);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    expect_ok(rnl_cache_visit(find_large, &count));
    less = before;
    less.rlim_cur = address_space() + (1 << 28);
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    rnl_status status =
        rnl_module_compile(suite_context(), large, options, &module);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
    expect_ok(rnl_cache_visit(find_large, &left));
    assert_int_equal(left, count);
}

// Other tests use the cache at the same time: nothing whole is removed.
RNL_TEST(pruning_to_any_size_removes_nothing_whole)
{
    uint64_t count = 7, size = 7;
    expect_ok(rnl_cache_prune(UINT64_MAX, &count, &size));
    assert_true(count != 0 || size == 0);
    expect_ok(rnl_cache_prune(UINT64_MAX, NULL, NULL));
}

RNL_TEST(bad_arguments_of_the_cache_are_refused)
{
    rnl_cache_info no_size = {.struct_size = 0};
    expect_error(rnl_cache_get_info(NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_info");
    expect_error(rnl_cache_get_info(&no_size), RNL_ERROR_INVALID_ARGUMENT,
                 "out_info");
    expect_error(rnl_cache_visit(NULL, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "visit");
}
