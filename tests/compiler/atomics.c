// Atomic functions, spin locks, variables, parameters.
#include "build.h"

#include <dlfcn.h>
#include <string.h>

enum { MOST = 4096 };

static int in[MOST], out[MOST];
static struct built built;

static void begin(const char *file)
{
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    built_kernels(&built, file, "");
}

RNL_TEST(atomics_on_integers)
{
    begin("atomic.cu");
    int sum = 0, low = 10000, high = -1, exclusive = 0;
    out[2] = 10000;
    out[5] = -1;
    for (int i = 0; i < 640; i++) {
        sum += in[i];
        low = in[i] < low ? in[i] : low;
        high = in[i] > high ? in[i] : high;
        exclusive ^= i;
    }
    built_run_ints(&built, "atomic_integers", (rnl_dim3){5}, (rnl_dim3){128},
                   0, out, in, 0);
    int want[12] = {sum, -sum, low, high, 0xfffff, ~0xfffff, exclusive,
                    0, 0, 640, 1280, high};
    want[7] = 640 % 10;
    want[8] = (10 - 640 % 10) % 10;
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], want[i]);
    built_close(&built);
}

RNL_TEST(atomics_on_wide_and_real_numbers)
{
    begin("atomic.cu");
    unsigned long long wide[5] = {0, 0, 0, 0, 5}, *sums = wide;
    double real = 0, *real_at = &real;
    float single[2] = {0, -1}, *single_at = single;
    const void *arguments[] = {&sums, &real_at, &single_at};
    assert_int_equal(built_run(&built, "atomic_wide", (rnl_dim3){4},
                               (rnl_dim3){64}, 0, arguments), RNL_OK);
    assert_true(wide[0] == 256ull << 33 && wide[1] == 255ull << 32 &&
                wide[2] == 0 && wide[3] == 77 && wide[4] == 6);
    assert_true(real == 128.0 && single[0] == 64.0f && single[1] == 255.0f);
    built_close(&built);
}

RNL_TEST(atomics_on_shared_memory)
{
    begin("atomic.cu");
    int want[16] = {0};
    for (int i = 0; i < MOST; i++)
        want[in[i] & 15]++;
    built_run_ints(&built, "atomic_histogram", (rnl_dim3){3}, (rnl_dim3){100},
                   0, out, in, MOST);
    for (int i = 0; i < 16; i++)
        assert_int_equal(out[i], want[i]);
    for (int i = 0; i < 64; i++)
        out[i] = 5 * i % 64;
    built_run_ints(&built, "atomic_index_overwritten", (rnl_dim3){1},
                   (rnl_dim3){64}, 0, out, in, 0);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], 63 - 5 * i % 64 + 100 * (13 * i % 64));
    out[0] = 1;
    built_run_ints(&built, "atomic_cas_loop", (rnl_dim3){1}, (rnl_dim3){12}, 0,
                   out, in, 0);
    assert_int_equal(out[0], 531441);
    built_close(&built);
}

RNL_TEST(spin_locks_do_not_hang)
{
    begin("atomic.cu");
    built_run_ints(&built, "lock_cas", (rnl_dim3){2}, (rnl_dim3){256}, 0, out,
                   in, 0);
    assert_int_equal(out[0], 512);
    out[0] = 0;
    built_run_ints(&built, "lock_held_long", (rnl_dim3){2}, (rnl_dim3){96}, 0,
                   out, in, 0);
    assert_int_equal(out[0], 192);
    built_run_ints(&built, "lock_sleep", (rnl_dim3){1}, (rnl_dim3){64}, 0, out,
                   in, 0);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], 63 - i);
    built_close(&built);
}

RNL_TEST(flags_that_atomics_ask_for_are_awaited)
{
    begin("atomic.cu");
    for (int n = 0; n < 4; n++) {
        built_run_ints(&built, "flag_asked", (rnl_dim3){1}, (rnl_dim3){70}, 0,
                       out, in, n);
        assert_int_equal(out[n], 7);
    }
    built_close(&built);
}

RNL_TEST(volatile_flags_are_awaited)
{
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
    begin("atomic.cu");
    built_run_ints(&built, "flag_volatile", (rnl_dim3){1}, (rnl_dim3){64}, 0,
                   out, in, 20);
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[i], 190 * i);
    built_close(&built);
}

#if defined(__x86_64__)
RNL_TEST(atomics_of_16_bytes)
{
    if (!__builtin_cpu_supports("avx"))
        test_skip("the processor has no AVX");
    begin("wide.cu");
    int least = 1 << 30;
    long long sum = 0;
    for (int i = 0; i < 96; i++) {
        least = in[i] < least ? in[i] : least;
        sum += in[i] * 5000000000ll;
    }
    built_run_ints(&built, "wide", (rnl_dim3){1}, (rnl_dim3){96}, 0,
                   out, in, 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal(out[i], 1 + least * 3 + (int)(sum >> 20));
    built_run_ints(&built, "wide_fixed", (rnl_dim3){1}, (rnl_dim3){96}, 0,
                   out, in, 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal(out[i], 123 + 333 * ((unsigned)in[i] % 3));
    built_close(&built);
}
#endif

// --- Variables -------------------------------------------------------------

static void *global(const char *name, size_t size, bool constant)
{
    const rnl_cpu_global *found = built_global(&built, name);
    if (!found)
        fail_msg("no variable %s", name);
    assert_int_equal(found->size, size);
    assert_int_equal(found->flags, constant ? RNL_CPU_GLOBAL_CONSTANT : 0);
    return found->address;
}

RNL_TEST(variables_are_found_and_not_folded)
{
    begin("globals.cu");
    struct {
        int a;
        float b;
    } settings = {100, 0.5f};
    float factors[4] = {1, 2, 3, 4}, results[4], *to = results;
    ((int *)global("table", 12, true))[2] = 90;
    memcpy(global("factors", 16, true), factors, 16);
    memcpy(global("settings", 8, true), &settings, 8);
    *(double *)global("physics::gravity", 8, true) = 10.0;
    memset(global("physics::inner::bytes", 100, false), 7, 100);
    *(int *)global("first", 4, false) = 30;
    ((int *)global("second", 8, false))[1] = 4;
    const void *arguments[] = {&to};
    assert_int_equal(built_run(&built, "globals_read", (rnl_dim3){1},
                               (rnl_dim3){4}, 0, arguments), RNL_OK);
    static const int table[] = {7, 8, 90};
    for (int t = 0; t < 4; t++)
        assert_true(results[t] == factors[t] + table[t % 3] + 100 + 0.5f + 10 +
                                      7 + 11 + 30 + 4);
    built_close(&built);
}

RNL_TEST(functions_by_their_type_are_no_variables)
{
    begin("globals.cu");
    int *to = out;
    const void *arguments[] = {&to};
    global("by_star", sizeof(void *), false);
    global("by_name", sizeof(void *), false);
    global("by_alias", sizeof(void *), false);
    void **plain = global("plain", 2 * sizeof(void *), false);
    assert_null(built_global(&built, "twice"));
    assert_null(built_global(&built, "thrice"));
    assert_null(built_global(&built, "fourfold"));
    assert_int_equal(built_run(&built, "globals_called", (rnl_dim3){1},
                               (rnl_dim3){1}, 0, arguments), RNL_OK);
    assert_int_equal(out[0], 432);
    assert_non_null(plain[1]);
    built_close(&built);
}

RNL_TEST(variables_are_written)
{
    begin("globals.cu");
    int *to = out;
    const void *arguments[] = {&to};
    assert_int_equal(*(int *)global("counter", 4, false), 5);
    assert_int_equal(built_run(&built, "globals_write", (rnl_dim3){1},
                               (rnl_dim3){10}, 0, arguments), RNL_OK);
    assert_int_equal(out[9], 14);
    assert_int_equal(*(int *)global("counter", 4, false), 15);
    assert_true(*(double *)global("wide", 8, false) == 2.5);
    global("pointer", 8, false);
    assert_int_equal(*(int *)global("hidden_counter", 4, false), 21);
    assert_int_equal(built_run(&built, "globals_hidden", (rnl_dim3){1},
                               (rnl_dim3){1}, 0, arguments), RNL_OK);
    assert_int_equal(out[0], 21);
    built_close(&built);
}

// --- Parameters ------------------------------------------------------------

RNL_TEST(parameters_of_every_kind)
{
    begin("parameters.cu");
    long long results[11], *to = results;
    char c = -3;
    unsigned char uc = 200;
    short s = -300;
    unsigned short us = 60000;
    int i = -70000, mode = 3;
    unsigned u = 4000000000u;
    long l = -5000000000;
    unsigned long long ull = 1ull << 62;
    bool b = true;
    unsigned char tone = 1;
    const void *arguments[] = {&to, &c, &uc, &s,   &us, &i,
                               &u,  &l, &ull, &b, &mode, &tone};
    assert_int_equal(built_run(&built, "parameters_mixed", (rnl_dim3){1},
                               (rnl_dim3){2}, 0, arguments), RNL_OK);
    const long long want[] = {-3, 200, -300, 60000, -70000, 4000000000,
                              -5000000000, 1ll << 62, 1, 3, 1};
    for (int n = 0; n < 11; n++)
        assert_true(results[n] == want[n]);
    const rnl_cpu_kernel *kernel = built_kernel(&built, "parameters_mixed");
    static const uint32_t sizes[] = {8, 1, 1, 2, 2, 4, 4, 8, 8, 1, 4, 1};
    assert_int_equal(kernel->parameter_count, 12);
    for (int n = 0; n < 12; n++) {
        assert_int_equal(kernel->parameters[n].size, sizes[n]);
        assert_int_equal(kernel->parameters[n].alignment, sizes[n]);
        assert_int_equal(kernel->parameters[n].kind,
                         n == 0 ? RNL_VALUE_POINTER : RNL_VALUE_INTEGER);
    }
    assert_string_equal(kernel->parameters[0].type, "long long *");
    assert_string_equal(kernel->parameters[6].type, "unsigned int");
    assert_string_equal(kernel->parameters[10].type, "Mode");
    built_close(&built);
}

RNL_TEST(parameters_that_are_vectors_or_structs)
{
    begin("parameters.cu");
    double results[64] = {0}, *to = results;
    float f = 1.5f, array[2] = {0, 2.5f}, *p = array, two[2] = {1, 2},
          four[4] = {1, 2, 3, 4};
    double d = -2.25;
    int three[3] = {1, 2, 3}, step = 1;
    const void *real[] = {&to, &f, &d, &p, two, four, three};
    assert_int_equal(built_run(&built, "parameters_real", (rnl_dim3){1},
                               (rnl_dim3){1}, 0, real), RNL_OK);
    assert_true(results[0] == 1.5 && results[1] == -2.25 && results[2] == 2.5 &&
                results[3] == 3 && results[4] == 10 && results[5] == 123);
    const rnl_cpu_parameter *p4 =
        &built_kernel(&built, "parameters_real")->parameters[4];
    assert_int_equal(p4[0].kind, RNL_VALUE_STRUCT);
    assert_int_equal(p4[1].alignment, 16);
    assert_int_equal(p4[2].size, 12);
    char small[3] = {1, 2, 3};
    struct {
        double matrix[16];
        int n;
    } large = {{0}, 7};
    for (int i = 0; i < 16; i++)
        large.matrix[i] = i;
    const void *structs[] = {&to, small, &large, &step};
    assert_int_equal(built_run(&built, "parameters_struct", (rnl_dim3){1},
                               (rnl_dim3){40}, 0, structs), RNL_OK);
    for (int t = 0; t < 40; t++)
        assert_true(results[t] ==
                    (t & 15) + 17 + (7 + t) * 1000 + (1 + t) * 100000.0 +
                        ((t + 1) & 15) * 0.5);
    built_close(&built);
}

RNL_TEST(parameters_that_are_references)
{
    begin("parameters.cu");
    double results[16] = {0}, *to = results;
    struct large {
        double matrix[16];
        int n;
    } large = {{0}, 7};
    int step = 3, *by = &step;
    const struct large *from = &large;
    for (int i = 0; i < 16; i++)
        large.matrix[i] = i;
    const void *arguments[] = {&to, &from, &by};
    assert_int_equal(built_run(&built, "parameters_reference", (rnl_dim3){1},
                               (rnl_dim3){16}, 0, arguments), RNL_OK);
    for (int t = 0; t < 16; t++)
        assert_true(results[t] == t * 3 + 7);
    assert_int_equal(step, 4);
    const rnl_cpu_parameter *second =
        &built_kernel(&built, "parameters_reference")->parameters[1];
    assert_int_equal(second->kind, RNL_VALUE_POINTER);
    assert_int_equal(second->size, sizeof(void *));
    assert_string_equal(second->type, "const Large &");
    built_close(&built);
}
