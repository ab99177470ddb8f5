// The core's side of the allow list: the same for every backend, but for what
// only one of them has.
#include "unit.h"

#include "core/module/source.h"

#include <stdio.h>
#include <string.h>

static const struct backend cpu = {.api = "cpu"};
static const struct backend gpu = {.api = "gpu", .accelerator = true};

static rnl_status check(const struct backend *backend, const char *first,
                        const char *second)
{
    const char *words[] = {first, second};
    const rnl_module_options options = {.options = words,
                                        .option_count = second ? 2 : 1};
    const struct source source = {"", &options};
    return source_check_options(&source, backend);
}

static void refuses(const struct backend *backend, const char *first,
                    const char *second, const char *named)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "'%s' ", named);
    assert_int_equal(check(backend, first, second),
                     RNL_ERROR_INVALID_ARGUMENT);
    const rnl_error *error = rnl_last_error();
    assert_string_equal(error->parameter, "options.options");
    if (!strstr(error->message, quoted))
        fail_msg("%s", error->message);
}

static const struct backend *const both[] = {&cpu, &gpu};

RNL_TEST(an_option_of_nvrtc_is_taken_by_every_backend)
{
    static const char *const rows[][2] = {
        {"-DX=1", NULL}, {"-D", "--tier=B"}, {"--std", "c++17"},
        {"--ftz", "false"}, {"--ftz", "-w"}, {"-arch=sm_90", "-G"},
        {"-I", "/x"}, {"--ptxas-options", "-O3"}};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            assert_int_equal(check(both[b], rows[i][0], rows[i][1]), RNL_OK);
}

RNL_TEST(an_option_of_another_compiler_is_refused_by_every_backend)
{
    static const char *const rows[] = {
        "-fplugin=x.so", "-fpass-plugin=x.so", "-ftime-trace=x",
        "-fprofile-generate=x", "-fuse-ld=x", "-Wl,-rpath,x", "-Xnvvm",
        "--dump-nvvmir", "@x", "x.cu", "-O3", "--use_slow_math"};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            refuses(both[b], rows[i], NULL, rows[i]);
            refuses(both[b], "-w", rows[i], rows[i]);
            refuses(both[b], "--ftz", rows[i], rows[i]);
        }
}

RNL_TEST(an_option_of_the_cpu_is_refused_elsewhere)
{
    static const char *const rows[] = {"--tier=F", "--target=x", "-Wall",
                                       "--block-size=32", "--report-tiers",
                                       "-fassociative-math"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(check(&cpu, rows[i], NULL), RNL_OK);
        refuses(&gpu, rows[i], NULL, rows[i]);
        assert_non_null(strstr(rnl_last_error()->message, "cpu contexts only"));
    }
}

RNL_TEST(an_option_for_another_output_is_refused_by_every_backend)
{
    static const char *const rows[] = {"-dlto", "--dlink-time-opt",
                                       "--gen-opt-lto", "-optix-ir",
                                       "--fdevice-syntax-only"};
    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            refuses(both[b], rows[i], NULL, rows[i]);
            assert_non_null(strstr(rnl_last_error()->message, "loaded from"));
        }
}
