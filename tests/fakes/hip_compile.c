// Kernels from source on the fake libamdhip64, and the faults between backend,
// runnel-hip-cc and hiprtc.
#include "loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "extern \"C\" __global__ void put(int *p, int v) { p[threadIdx.x] = v; }\n";

static rnl_context context;

static rnl_status compile(const char *text, uint64_t timeout_ns)
{
    rnl_module module = NULL;
    rnl_status status = rnl_module_compile(
        context, text, RNL_MODULE_OPTIONS(.timeout_ns = timeout_ns), &module);
    if (status == RNL_OK)
        assert_ok(rnl_module_release(module));
    return status;
}

static void need_compiler(void)
{
    const char *library = getenv("RUNNEL_HIPRTC");
    if (!library || strcmp(library, "off") == 0 || !getenv("RUNNEL_HIP_CC"))
        test_skip("kernels cannot be compiled");
}

// In a process of its own: what the environment names is read once. TEST_WORDS
// is what the failure says, and TEST_STATUS the status.
static void expect_failure(const char *test, const char *setting,
                           rnl_status status, const char *words)
{
    char wanted[256], code[32];
    snprintf(wanted, sizeof wanted, "TEST_WORDS=%s", words);
    snprintf(code, sizeof code, "TEST_STATUS=%d", (int)status);
    const char *environment[] = {setting, wanted, code,
                                 "RUNNEL_CACHE_DISABLE=1", NULL};
    need_compiler();
    assert_int_equal(fake_spawn(test, environment), 0);
}

static void expect_in_child(uint64_t timeout_ns)
{
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    assert_status(compile(source, timeout_ns), atoi(getenv("TEST_STATUS")));
    const rnl_error *error = rnl_last_error();
    if (!strstr(error->message, getenv("TEST_WORDS")) &&
        !strstr(error->log ? error->log : "", getenv("TEST_WORDS")))
        fail_msg("'%s' is not in: %s", getenv("TEST_WORDS"), error->message);
    assert_ok(rnl_context_release(context));
}

// --- Missing parts -----------------------------------------------------------

RNL_TEST(sources_need_hiprtc)
{
    const char *reason = "";
    if (!fake_is_child()) {
        expect_failure(__func__, "RUNNEL_HIPRTC=off",
                       RNL_ERROR_COMPILER_UNAVAILABLE, "RUNNEL_HIPRTC=off");
        return;
    }
    expect_in_child(0);
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    assert_status(rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason),
                  RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(reason, "RUNNEL_HIPRTC=off"));
    assert_ok(rnl_context_release(context));
}

RNL_TEST(sources_need_runnel_hip_cc)
{
    if (fake_is_child())
        expect_in_child(0);
    else
        expect_failure(__func__, "RUNNEL_HIP_CC=/absent/runnel-hip-cc",
                       RNL_ERROR_COMPILER_UNAVAILABLE,
                       "/absent/runnel-hip-cc");
}

RNL_TEST(a_library_without_hiprtc_is_refused)
{
    if (fake_is_child())
        expect_in_child(0);
    else
        expect_failure(__func__, "RUNNEL_HIPRTC=libc.so.6",
                       RNL_ERROR_COMPILER_UNAVAILABLE,
                       "hiprtcCompileProgram");
}

// The fake ends the process for it, as the real one up to 6.4.
RNL_TEST(a_device_that_hiprtc_does_not_know_is_named)
{
    if (fake_is_child())
        expect_in_child(0);
    else
        expect_failure(__func__, "RUNNEL_FAKE_ARCH=gfx9999",
                       RNL_ERROR_COMPILER_UNAVAILABLE, "gfx9999");
}

RNL_TEST(a_device_without_a_name_is_told)
{
    if (fake_is_child())
        expect_in_child(0);
    else
        expect_failure(__func__, "RUNNEL_FAKE_ARCH=none",
                       RNL_ERROR_COMPILER_UNAVAILABLE, "architecture");
}

RNL_TEST(the_environment_adds_no_options)
{
    if (fake_is_child()) {
        assert_ok(rnl_context_open("hip", 0, NULL, &context));
        assert_ok(compile(source, 0));
        assert_ok(rnl_context_release(context));
        return;
    }
    const char *environment[] = {"HIPRTC_COMPILE_OPTIONS_APPEND=-DNOT",
                                 "RUNNEL_CACHE_DISABLE=1", NULL};
    need_compiler();
    assert_int_equal(fake_spawn(__func__, environment), 0);
}

// --- A compiler that misbehaves ----------------------------------------------

RNL_TEST(a_compiler_that_writes_nothing_is_told)
{
    if (fake_is_child())
        expect_in_child(0);
    else
        expect_failure(__func__, "RUNNEL_HIP_CC=/bin/true",
                       RNL_ERROR_COMPILER_CRASHED, "wrote no object");
}

RNL_TEST(a_compiler_that_does_not_end_is_stopped)
{
    if (fake_is_child()) {
        expect_in_child(50000000);
        return;
    }
    char folder[] = "/tmp/runnel-test-XXXXXX", path[64], setting[96];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/compiler", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\nexec tail -f /dev/null\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(setting, sizeof setting, "RUNNEL_HIP_CC=%s", path);
    expect_failure(__func__, setting, RNL_ERROR_COMPILER_CRASHED,
                   "time limit");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

RNL_TEST(each_failure_of_hiprtc_is_told)
{
    static const struct {
        const char *setting;
        rnl_status status;
    } rows[] = {
        {"RUNNEL_FAKE_FAIL=hiprtcCreateProgram:1:1",
         RNL_ERROR_COMPILER_CRASHED},
        {"RUNNEL_FAKE_FAIL=hiprtcCreateProgram:1:3", RNL_ERROR_COMPILE_FAILED},
        {"RUNNEL_FAKE_FAIL=hiprtcCompileProgram:1:6",
         RNL_ERROR_COMPILE_FAILED},
        {"RUNNEL_FAKE_FAIL=hiprtcCompileProgram:1:5",
         RNL_ERROR_INVALID_ARGUMENT},
        {"RUNNEL_FAKE_FAIL=hiprtcCompileProgram:1:11",
         RNL_ERROR_COMPILER_CRASHED},
        {"RUNNEL_FAKE_FAIL=hiprtcGetCodeSize:1:11",
         RNL_ERROR_COMPILER_CRASHED},
        {"RUNNEL_FAKE_FAIL=hiprtcGetCode:1:11", RNL_ERROR_COMPILER_CRASHED},
    };
    if (fake_is_child()) {
        expect_in_child(0);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_failure(__func__, rows[i].setting, rows[i].status,
                       "hiprtc");
}

// --- The cache ---------------------------------------------------------------

static int in_cache(const char *test, const char *folder, const char *more)
{
    char place[256];
    snprintf(place, sizeof place, "RUNNEL_CACHE_DIR=%s", folder);
    const char *environment[] = {place, "RUNNEL_CACHE_DISABLE=0", more, NULL};
    return fake_spawn(test, environment);
}

#define NO_COMPILER "RUNNEL_FAKE_FAIL=hiprtcCreateProgram:1+:3"

// Another device has its own.
RNL_TEST(what_was_compiled_is_kept_for_the_device)
{
    if (fake_is_child()) {
        assert_ok(rnl_context_open("hip", 0, NULL, &context));
        rnl_status status = compile(source, 0);
        assert_ok(rnl_context_release(context));
        test_exit(status == RNL_OK ? 0 : 3);
    }
    need_compiler();
    char folder[] = "/tmp/runnel-test-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(in_cache(__func__, folder, NO_COMPILER), 3);
    assert_int_equal(in_cache(__func__, folder, NULL), 0);
    assert_int_equal(in_cache(__func__, folder, NO_COMPILER), 0);
    const char *other[] = {"RUNNEL_FAKE_ARCH=gfx1030", NO_COMPILER, NULL,
                           NULL};
    char place[256];
    snprintf(place, sizeof place, "RUNNEL_CACHE_DIR=%s", folder);
    other[2] = place;
    assert_int_equal(fake_spawn(__func__, other), 3);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

// --- Where libamd_comgr lies -------------------------------------------------

// hiprtc in a folder of its own, and libamd_comgr there or in another one.
struct places {
    char root[64], hiprtc[128], comgr[128];
};

static void make_places(struct places *places, const char *comgr)
{
    char command[1024];
    strcpy(places->root, "/tmp/runnel-test-XXXXXX");
    assert_non_null(mkdtemp(places->root));
    snprintf(places->hiprtc, sizeof places->hiprtc, "%s/a/libamdhip64.so.6",
             places->root);
    snprintf(places->comgr, sizeof places->comgr, "%s/%s", places->root, comgr);
    snprintf(command, sizeof command,
             "mkdir %s/a %s/b && ln -s %s %s && cp %s %s", places->root,
             places->root, getenv("RUNNEL_HIP"), places->hiprtc,
             getenv("TEST_COMGR"), places->comgr);
    assert_int_equal(system(command), 0);
}

static void remove_places(const struct places *places)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", places->root);
    assert_int_equal(system(command), 0);
}

// Exits with 0 if the source compiles, and with 3 if not.
static int compile_at(const struct places *places, const char *test,
                      const char *arch, const char *more)
{
    char hip[160], rtc[160], path[96], cache[96];
    snprintf(hip, sizeof hip, "RUNNEL_HIP=%s", places->hiprtc);
    snprintf(rtc, sizeof rtc, "RUNNEL_HIPRTC=%s", places->hiprtc);
    snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s/b", places->root);
    snprintf(cache, sizeof cache, "RUNNEL_CACHE_DIR=%s/cache", places->root);
    const char *environment[] = {hip,
                                 rtc,
                                 path,
                                 cache,
                                 arch,
                                 "RUNNEL_CACHE_DISABLE=0",
                                 "RUNNEL_FAKE_HIDE=amd_comgr_get_isa_count",
                                 more,
                                 NULL};
    return fake_spawn(test, environment);
}

static void compile_in_child(void)
{
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    rnl_status status = compile(source, 0);
    assert_ok(rnl_context_release(context));
    test_exit(status == RNL_OK ? 0 : 3);
}

static const char *const comgr_places[] = {
    "a/libamd_comgr.so.3", "a/libamd_comgr.so.2", "b/libamd_comgr.so.3"};

// This one does not know gfx906; one of the machine would.
RNL_TEST(comgr_is_found_beside_hiprtc_or_by_the_loader)
{
    struct places places;
    if (fake_is_child())
        compile_in_child();
    need_compiler();
    for (int i = 0; i < 3; i++) {
        make_places(&places, comgr_places[i]);
        assert_int_equal(
            compile_at(&places, __func__, "RUNNEL_FAKE_ARCH=gfx90a", NULL), 0);
        assert_int_equal(
            compile_at(&places, __func__, "RUNNEL_FAKE_ARCH=gfx906", NULL), 3);
        remove_places(&places);
    }
}

RNL_TEST(another_comgr_compiles_anew)
{
    static const char arch[] = "RUNNEL_FAKE_ARCH=gfx90a";
    struct places places;
    if (fake_is_child())
        compile_in_child();
    need_compiler();
    for (int i = 0; i < 3; i++) {
        make_places(&places, comgr_places[i]);
        assert_int_equal(compile_at(&places, __func__, arch, NULL), 0);
        assert_int_equal(compile_at(&places, __func__, arch, NO_COMPILER), 0);
        FILE *file = fopen(places.comgr, "a");
        assert_non_null(file);
        fputc('+', file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(compile_at(&places, __func__, arch, NO_COMPILER), 3);
        remove_places(&places);
    }
}
