// Libraries of HIP that are not there, old, or lack something; and the real one
// of this machine, if there is one.
#include "loaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

RNL_TEST(a_missing_libamdhip64_is_named)
{
    fake_expect_absent(__func__, "RUNNEL_HIP=/nonexistent/libamdhip64.so.6",
                       "/nonexistent/libamdhip64.so.6");
}

RNL_TEST(a_library_that_is_not_hip_is_refused)
{
    fake_expect_absent(__func__, "RUNNEL_HIP=libc.so.6", "hipInit");
}

RNL_TEST(hip_can_be_switched_off)
{
    fake_expect_absent(__func__, "RUNNEL_HIP=off", "RUNNEL_HIP=off");
}

RNL_TEST(a_machine_without_amd_gpus_says_so)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_DEVICES=0",
                       "no ROCm-capable device");
}

RNL_TEST(a_hip_that_does_not_start_says_why)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_FAIL=hipGetDeviceCount:1:2",
                       "hipErrorOutOfMemory");
}

RNL_TEST(a_required_symbol_of_hip_is_named)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_HIDE=hipModuleLaunchKernel",
                       "hipModuleLaunchKernel");
}

// --- A folder of ROCm --------------------------------------------------------

// hiprtc, which the fake has, is found beside the runtime under this name, or
// not at all.
static void expect_compiler(const char *name)
{
    rnl_context context;
    const char *reason = "";
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    rnl_status status =
        rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason);
    if (!*name)
        assert_non_null(strstr(reason, "hiprtc was not found"));
    assert_status(status, *name ? RNL_OK : RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_context_release(context));
}

static void link_fake(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/lib/%s", folder, name);
    assert_int_equal(symlink(getenv("RUNNEL_HIP"), path), 0);
}

static void expect_folder(const char *test, const char *name)
{
    char folder[] = "/tmp/runnel-rocm-XXXXXX", rocm[64], wanted[64], path[512];
    static const char *const names[] = {"libamdhip64.so.8", "libhiprtc.so.6",
                                        "libamdhip64.so.6"};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/lib", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    link_fake(folder, names[0]);
    if (*name)
        link_fake(folder, name);
    snprintf(rocm, sizeof rocm, "ROCM_PATH=%s", folder);
    snprintf(wanted, sizeof wanted, "TEST_NAME=%s", name);
    const char *environment[] = {rocm, wanted,
                                 "RUNNEL_HIP=", "RUNNEL_HIPRTC=", NULL};
    int status = fake_spawn(test, environment);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/lib/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/lib", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(status, 0);
}

RNL_TEST(a_folder_of_rocm_is_searched)
{
    if (fake_is_child()) {
        expect_compiler(getenv("TEST_NAME"));
        return;
    }
    if (!getenv("RUNNEL_HIP_CC"))
        test_skip("runnel-hip-cc was not built");
    if (dlopen("libamdhip64.so.8", RTLD_LAZY) ||
        dlopen("libhiprtc.so.6", RTLD_LAZY) ||
        dlopen("libamdhip64.so.6", RTLD_LAZY))
        test_skip("this machine has a newer libamdhip64");
    expect_folder(__func__, "libhiprtc.so.6");
    expect_folder(__func__, "libamdhip64.so.6");
    expect_folder(__func__, "");
}

// --- Codes -------------------------------------------------------------------

RNL_TEST(each_code_of_hip_has_its_status)
{
    static const struct {
        int code;
        rnl_status status;
    } rows[] = {
        {1, RNL_ERROR_INVALID_ARGUMENT},   {2, RNL_ERROR_OUT_OF_MEMORY},
        {9, RNL_ERROR_INVALID_ARGUMENT},   {98, RNL_ERROR_INVALID_BINARY},
        {100, RNL_ERROR_NO_DEVICE},        {200, RNL_ERROR_INVALID_BINARY},
        {209, RNL_ERROR_INVALID_BINARY},   {218, RNL_ERROR_INVALID_BINARY},
        {300, RNL_ERROR_INVALID_BINARY},   {500, RNL_ERROR_NOT_FOUND},
        {701, RNL_ERROR_INVALID_ARGUMENT}, {720, RNL_ERROR_INVALID_ARGUMENT},
        {801, RNL_ERROR_UNSUPPORTED},      {999, RNL_ERROR_DRIVER},
    };
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    fake_open(&context, &stream, 0, &buffer, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake_fail("hipMemsetD32Async", 1, rows[i].code, 0);
        assert_status(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4),
                      rows[i].status);
    }
    fake_fail("*", 0, 0, 0);
    fake_close(context, stream, buffer);
}

// The table of errors, by which the fake tells their names.
static const struct error {
    int code, since;
    const char *name;
} errors[] = {
#define HIP_ERROR(code, name, since) {code, since, #name},
#include "hip_errors.def"
#undef HIP_ERROR
};
enum { ERRORS = sizeof errors / sizeof errors[0], NEWER = 70300000 };

static const char *name_of_error(int code, int version)
{
    for (int i = 0; i < ERRORS; i++)
        if (errors[i].code == code && version >= errors[i].since)
            return errors[i].name;
    return "hipErrorUnknown";
}

static char *read_header(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    enum { MOST = 1 << 20 };
    char *text = calloc(1, MOST);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST - 1, file) > 0);
    fclose(file);
    return text;
}

static int header_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return atoi(at + strlen(name));
}

static void blank_comments(char *text)
{
    for (char *at = text; (at = strstr(at, "//"));)
        for (; *at && *at != '\n'; at++)
            *at = ' ';
}

// Looks at each enumerator of hipError_t. Returns their number.
static int each_error(char *text, void (*look)(const char *name, int code))
{
    char *begin = strstr(text, "hipError_t {"), name[64];
    char *end = begin ? strstr(begin, "} hipError_t;") : NULL;
    int code = -1, count = 0, length = 0;
    assert_non_null(end);
    *end = '\0';
    blank_comments(begin);
    for (char *at = strchr(begin, '{') + 1; *at; at += strcspn(at, ",") + 1) {
        if (sscanf(at, " %63[A-Za-z0-9_] %n", name, &length) != 1)
            break;
        code = at[length] == '=' ? atoi(at + length + 1) : code + 1;
        look(name, code);
        count++;
        if (!strchr(at, ','))
            break;
    }
    return count;
}

static int header_version;
static bool seen[ERRORS];

static bool is_old_name(const char *name)
{
    static const char *const old[] = {
        "hipErrorMemoryAllocation", "hipErrorInitializationError",
        "hipErrorMapBufferObjectFailed", "hipErrorInvalidResourceHandle"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(name, old[i]) == 0)
            return true;
    return false;
}

static void look_at_error(const char *name, int code)
{
    const char *ours = name_of_error(code, header_version);
    for (int i = 0; i < ERRORS; i++)
        seen[i] |= errors[i].code == code && !strcmp(errors[i].name, name);
    if (strcmp(name, ours) != 0 && !is_old_name(name))
        fail_msg("%d is %s in the header and %s here", code, name, ours);
}

RNL_TEST(the_header_has_the_names_and_codes_of_the_table)
{
    char *version = read_header(HIP_HEADERS "/hip/hip_version.h");
    char *text = read_header(HIP_HEADERS "/hip/hip_runtime_api.h");
    if (!version || !text)
        test_skip("there is no hip/hip_runtime_api.h");
    header_version =
        10000000 * header_number(version, "#define HIP_VERSION_MAJOR") +
        100000 * header_number(version, "#define HIP_VERSION_MINOR");
    if (header_version >= NEWER)
        test_skip("this header is newer than the table");
    assert_true(each_error(text, look_at_error) > 70);
    for (int i = 0; i < ERRORS; i++)
        if (!seen[i] && errors[i].since <= header_version)
            fail_msg("the header has no %s", errors[i].name);
    free(text);
    free(version);
}

// --- The real library -------------------------------------------------------

static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                      "libamdhip64.so.5"};
enum { SONAMES = sizeof sonames / sizeof sonames[0] };

static void *open_real(const char **out_name)
{
    void *library = NULL;
    for (int i = 0; i < SONAMES && !library; i++) {
        *out_name = sonames[i];
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        test_skip("there is no libamdhip64");
    return library;
}

// Those that are missing must be optional, and say what is lacking.
RNL_TEST(the_real_libamdhip64_lacks_only_what_has_a_reason)
{
    const char *name;
    enum { REQUIRED, OPTIONAL };
    static const struct {
        const char *name;
        int need;
        const char *why;
    } symbols[] = {
#define SYMBOL(name, vendor, suffix, since, need, why) {#vendor, need, why},
#define ADAPTED(name, vendor, suffix, since, need, why, result, parameters) \
    {#vendor, need, why},
#define OTHER ADAPTED
#include "backends/hip/symbols.def"
    };
    void *library = open_real(&name);
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!dlsym(library, symbols[i].name) &&
            (symbols[i].need == REQUIRED || !symbols[i].why[0]))
            fail_msg("%s has no %s", name, symbols[i].name);
}

RNL_TEST(the_real_libamdhip64_names_errors_as_the_table)
{
    enum { MOST = 2000 };
    const char *path, *(*name)(int);
    int (*driver_version)(int *), version = 0;
    void *library = open_real(&path);
    *(void **)&name = dlsym(library, "hipGetErrorName");
    *(void **)&driver_version = dlsym(library, "hipDriverGetVersion");
    assert_int_equal(driver_version(&version), 0);
    if (version >= NEWER)
        test_skip("this libamdhip64 is newer than the table");
    for (int code = 0; code < MOST; code++)
        if (strcmp(name(code), name_of_error(code, version)) != 0)
            fail_msg("%s names %d %s, and the table %s", path, code, name(code),
                     name_of_error(code, version));
}

// It says that there is no device, and writes nothing.
RNL_TEST(the_real_libamdhip64_is_quiet_without_a_gpu)
{
    const char *name;
    char setting[64];
    if (fake_is_child()) {
        size_t count = 0;
        int printed = memfd_create("printed", 0), out = dup(1), err = dup(2);
        fflush(NULL);
        dup2(printed, 1);
        dup2(printed, 2);
        rnl_status status = rnl_device_count("hip", &count);
        fflush(NULL);
        dup2(out, 1);
        dup2(err, 2);
        assert_ok(status);
        assert_int_equal(lseek(printed, 0, SEEK_END), 0);
        if (count == 0)
            fake_expect_absent(__func__, NULL, "has no device");
        return;
    }
    open_real(&name);
    snprintf(setting, sizeof setting, "RUNNEL_HIP=%s", name);
    fake_expect_absent(__func__, setting, "has no device");
}
