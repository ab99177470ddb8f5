// Large kernels: what they compute, and that the time to compile them grows
// little faster than they do.
#include "build.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define THREADS 64

static struct built built;

// What one kind of kernel is made of: its j-th statement, and what that does to
// the thread's three numbers.
struct kind {
    void (*write)(FILE *file, unsigned j);
    void (*compute)(unsigned *numbers, unsigned *out, unsigned j);
};

#define NAME(j) ("abc"[(j) % 3])

static void write_straight(FILE *file, unsigned j)
{
    fprintf(file, "%c = %c * %uu + (%c ^ %uu);\n", NAME(j), NAME(j), 2 * j + 3,
            NAME(j + 1), j * 7);
}

static void compute_straight(unsigned *n, unsigned *out, unsigned j)
{
    (void)out;
    n[j % 3] = n[j % 3] * (2 * j + 3) + (n[(j + 1) % 3] ^ (j * 7));
}

static const struct kind straight = {write_straight, compute_straight};

// A chain of a number that all threads have in common.
static void write_common(FILE *file, unsigned j)
{
    if (j == 0)
        fprintf(file, "c = blockDim.x;\n");
    fprintf(file, "c = (c ^ %uu) * %uu + (c >> %u);\n", j, 2 * j + 3, j % 31);
}

static void compute_common(unsigned *n, unsigned *out, unsigned j)
{
    (void)out;
    unsigned c = j == 0 ? THREADS : n[2];
    n[2] = (c ^ j) * (2 * j + 3) + (c >> j % 31);
}

static const struct kind common = {write_common, compute_common};

static void write_branch(FILE *file, unsigned j)
{
    fprintf(file, "if (%c & %uu) out[i] = %c + %uu; else %c += %c * %uu;\n",
            NAME(j), 1u << j % 16, NAME(j + 1), j, NAME(j + 1), NAME(j), j);
}

static void compute_branch(unsigned *n, unsigned *out, unsigned j)
{
    if (n[j % 3] & 1u << j % 16)
        *out = n[(j + 1) % 3] + j;
    else
        n[(j + 1) % 3] += n[j % 3] * j;
}

static const struct kind branches = {write_branch, compute_branch};

// With a barrier now and then.
static void write_mixed(FILE *file, unsigned j)
{
    if (j % 33 == 32)
        fprintf(file, "s[i] = %c; __syncthreads(); %c ^= s[i];\n", NAME(j),
                NAME(j + 1));
    else if (j % 5 == 0)
        write_branch(file, j);
    else
        write_straight(file, j);
}

static void compute_mixed(unsigned *n, unsigned *out, unsigned j)
{
    if (j % 33 == 32)
        n[(j + 1) % 3] ^= n[j % 3];
    else if (j % 5 == 0)
        compute_branch(n, out, j);
    else
        compute_straight(n, out, j);
}

static const struct kind mixed = {write_mixed, compute_mixed};

static unsigned often(unsigned x, unsigned j)
{
    unsigned y = x + j;
    if (y & 8)
        y ^= x >> 3;
    return y;
}

static void write_call(FILE *file, unsigned j)
{
    fprintf(file, "%c ^= often(%c, %uu);\n", NAME(j), NAME(j + 1), j);
}

static void compute_call(unsigned *n, unsigned *out, unsigned j)
{
    (void)out;
    n[j % 3] ^= often(n[(j + 1) % 3], j);
}

static const struct kind calls = {write_call, compute_call};

// Functions that are worth a call.
static unsigned stir(unsigned x, unsigned y)
{
    for (unsigned q = 0; q < 12; q++)
        x = x * (2 * q + 3) + (y < x ? y ^ q : x >> 3);
    return x;
}

static unsigned stir_often(unsigned x, unsigned y)
{
    return stir(x, y) + stir(y, x ^ 5);
}

static void write_stir(FILE *file, unsigned j)
{
    fprintf(file, "%c ^= %s(%c, %c);\n", NAME(j), j % 4 ? "stir"
            : "stir_often", NAME(j + 1), NAME(j + 2));
}

static void compute_stir(unsigned *n, unsigned *out, unsigned j)
{
    (void)out;
    n[j % 3] ^= (j % 4 ? stir : stir_often)(n[(j + 1) % 3], n[(j + 2) % 3]);
}

static const struct kind stirs = {write_stir, compute_stir};

static void write_loop(FILE *file, unsigned j)
{
    fprintf(file, "for (unsigned q = 0; q < (a >> %u & 3); q++)\n"
            "    b = b * %uu + (out[i] ^ q);\n", j % 13, j);
}

static void compute_loop(unsigned *n, unsigned *out, unsigned j)
{
    for (unsigned q = 0; q < (n[0] >> j % 13 & 3); q++)
        n[1] = n[1] * j + (*out ^ q);
}

static const struct kind loops = {write_loop, compute_loop};

// A load and a store of the thread's own number, in a loop and under a
// condition.
static void write_loop_in_place(FILE *file, unsigned j)
{
    fprintf(file, "for (unsigned q = 0; q < (a >> %u & 3); q++)\n"
            "    out[i] = out[i] * %uu + (b ^ q);\n", j % 13, j);
}

static void compute_loop_in_place(unsigned *n, unsigned *out, unsigned j)
{
    for (unsigned q = 0; q < (n[0] >> j % 13 & 3); q++)
        *out = *out * j + (n[1] ^ q);
}

static const struct kind loops_in_place = {write_loop_in_place,
                                           compute_loop_in_place};

static void write_branch_in_place(FILE *file, unsigned j)
{
    fprintf(file, "if (out[i] & %uu) out[i] = %c + %uu; "
            "else if (%c & %uu) out[i] ^= %uu;\n", 1u << j % 16, NAME(j), j,
            NAME(j), 1u << j % 7, j * 9);
}

static void compute_branch_in_place(unsigned *n, unsigned *out, unsigned j)
{
    if (*out & 1u << j % 16)
        *out = n[j % 3] + j;
    else if (n[j % 3] & 1u << j % 7)
        *out ^= j * 9;
}

static const struct kind branches_in_place = {write_branch_in_place,
                                              compute_branch_in_place};

static void write_kernel(const struct kind *kind, unsigned count)
{
    FILE *file = built_create(&built, "k.cu");
    fprintf(file, "__device__ unsigned often(unsigned x, unsigned j)\n{\n"
            "unsigned y = x + j;\nif (y & 8) y ^= x >> 3;\nreturn y;\n}\n"
            "__device__ unsigned stir(unsigned x, unsigned y)\n{\n");
    for (unsigned q = 0; q < 12; q++)
        fprintf(file, "x = x * %uu + (y < x ? y ^ %uu : x >> 3);\n",
                2 * q + 3, q);
    fprintf(file, "return x;\n}\n"
            "__device__ unsigned stir_often(unsigned x, unsigned y)\n{\n"
            "return stir(x, y) + stir(y, x ^ 5);\n}\n"
            "extern \"C\" __global__ void k(unsigned *out)\n{\n"
            "__shared__ unsigned s[%d];\n"
            "unsigned i = threadIdx.x, a = out[i], b = i, c = 1;\n",
            THREADS);
    for (unsigned j = 0; j < count; j++)
        kind->write(file, j);
    fprintf(file, "out[i] += a + b + c;\n}\n");
    assert_int_equal(fclose(file), 0);
}

static void check(const struct kind *kind, unsigned count)
{
    unsigned out[THREADS], *address = out;
    const void *arguments[] = {&address};
    for (unsigned i = 0; i < THREADS; i++)
        out[i] = i * 2654435761u;
    if (built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){THREADS}, 0,
                  arguments) != RNL_OK)
        fail_msg("%s", built.failure);
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned expected = i * 2654435761u, n[] = {expected, i, 1};
        for (unsigned j = 0; j < count; j++)
            kind->compute(n, &expected, j);
        assert_int_equal(out[i], expected + n[0] + n[1] + n[2]);
    }
}

static double children_seconds(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Compiles and runs one; gives the CPU time that compiling took.
static double compile(const struct kind *kind, unsigned count)
{
    write_kernel(kind, count);
    double before = children_seconds();
    built_make(&built, "--source @/k.cu --option --tier=B");
    double seconds = children_seconds() - before;
    assert_string_equal(built.log, "");
    check(kind, count);
    built_close(&built);
    print_message("%u: %.2f s\n", count, seconds);
    return seconds;
}

static void need_simt(void)
{
    if (!built_may_be_tier_b())
        test_skip("tier F was asked for");
}

// Four times as much may take six times as long; growth with the square would
// be sixteen. What else the machine does can spoil a trial, but not all.
static void grows_little(const struct kind *kind, unsigned count, double most)
{
    enum { TRIALS = 3 };
    double quarter = 0, whole = 0;
    need_simt();
    for (int i = 0; i < TRIALS; i++) {
        quarter = compile(kind, count / 4);
        whole = compile(kind, count);
        if (whole <= 6 * quarter && whole <= most)
            return;
    }
    fail_msg("%.2f s, and %.2f s for a quarter; %.2f s are allowed", whole,
             quarter, most);
}

RNL_TEST(four_thousand_statements)
{
    grows_little(&straight, 4000, 3);
}

RNL_TEST(four_thousand_statements_of_a_common_number)
{
    grows_little(&common, 4000, 3);
}

RNL_TEST(four_thousand_branches)
{
    grows_little(&branches, 4000, 8);
}

RNL_TEST(two_thousand_statements_with_barriers)
{
    grows_little(&mixed, 2000, 3);
}

RNL_TEST(four_thousand_calls)
{
    grows_little(&calls, 4000, 3);
}

// Inlined they would take 9 s.
RNL_TEST(two_thousand_calls_of_functions_worth_one)
{
    grows_little(&stirs, 2000, 3);
}

// Runs what calls four functions `times` times, written once or that often.
static void call_functions(float *out, unsigned times, bool once)
{
    static const char body[] =
        "x = 1.5f + logf(x + t);\nx = 1.5f + expf(t - x);\n"
        "x = 1.5f + (float)log((double)(x + t));\n"
        "x = 1.5f + (float)exp((double)(t - x));\nt += 0.03125f;\n";
    const void *arguments[] = {&out};
    FILE *file = built_create(&built, "k.cu");
    fprintf(file, "extern \"C\" __global__ void k(float *out)\n{\n"
            "float x = 2.0f + threadIdx.x, t = 0.0f;\n");
    if (once)
        fprintf(file, "#pragma unroll 1\nfor (int i = 0; i < %u; i++) {\n",
                times);
    for (unsigned i = 0; i < (once ? 1 : times); i++)
        fputs(body, file);
    fprintf(file, "%sout[threadIdx.x] = x;\n}\n", once ? "}\n" : "");
    assert_int_equal(fclose(file), 0);
    built_make(&built, "--source @/k.cu --option --tier=B");
    assert_string_equal(built.log, "");
    if (built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){THREADS}, 0,
                  arguments) != RNL_OK)
        fail_msg("%s", built.failure);
    built_close(&built);
}

RNL_TEST(functions_that_are_called_give_what_inlined_ones_give)
{
    float called[THREADS], inlined[THREADS];
    need_simt();
    call_functions(called, 300, false);
    call_functions(inlined, 300, true);
    assert_memory_equal(called, inlined, sizeof called);
}

RNL_TEST(more_than_600_blocks_are_left_to_tier_f)
{
    static const char why[] = "it has so many branches that it would compile "
                              "for too long\n";
    char said[256];
    need_simt();
    write_kernel(&loops, 220);
    built_make(&built, "--source @/k.cu --name k.cu --option --tier=B");
    assert_int_equal(built.status, 1);
    snprintf(said, sizeof said,
             "k.cu: error: kernel 'k' cannot be vectorised: %s", why);
    assert_string_equal(built.log, said);
    built_make(&built, "--source @/k.cu --name k.cu "
                       "--option --report-tiers");
    snprintf(said, sizeof said, "k.cu: remark: kernel 'k': tier F: %s", why);
    assert_string_equal(built.log, said);
    assert_null(built_kernel(&built, "k")->run_blocks);
    check(&loops, 220);
    built_close(&built);
}

// Writes a kernel with one loop around a switch of `count` cases.
static void write_switch(unsigned count)
{
    FILE *file = built_create(&built, "k.cu");
    fprintf(file, "extern \"C\" __global__ void k(unsigned *out)\n{\n"
            "unsigned a = out[threadIdx.x];\n"
            "for (unsigned r = 0; r < 9; r++)\nswitch (a %% %uu) {\n", count);
    for (unsigned j = 0; j < count; j++)
        fprintf(file, "case %u: a = a * %uu + %uu; break;\n", j, 2 * j + 3,
                j * 7);
    fprintf(file, "}\nout[threadIdx.x] = a;\n}\n");
    assert_int_equal(fclose(file), 0);
}

static void check_switch(unsigned count)
{
    unsigned out[THREADS], *address = out;
    const void *arguments[] = {&address};
    for (unsigned i = 0; i < THREADS; i++)
        out[i] = i * 2654435761u;
    if (built_run(&built, "k", (rnl_dim3){1}, (rnl_dim3){THREADS}, 0,
                  arguments) != RNL_OK)
        fail_msg("%s", built.failure);
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned a = i * 2654435761u;
        for (unsigned r = 0; r < 9; r++)
            a = a * (2 * (a % count) + 3) + a % count * 7;
        assert_int_equal(out[i], a);
    }
}

// Block placement would take 9 s of CPU time for this switch.
RNL_TEST(a_switch_of_four_thousand_cases)
{
    enum { COUNT = 4000 };
    need_simt();
    write_switch(COUNT);
    double before = children_seconds();
    built_make(&built, "--source @/k.cu");
    double seconds = children_seconds() - before;
    assert_string_equal(built.log, "");
    check_switch(COUNT);
    built_close(&built);
    print_message("%.2f s\n", seconds);
    assert_true(seconds < 7);
}

// Writes kernels that have a variable, a table and a function in common, and
// variants for blocks of several rows.
static void write_many(unsigned count)
{
    FILE *file = built_create(&built, "k.cu");
    fprintf(file, "__constant__ int table[] = {3, 5, 7, 11};\n"
            "__device__ unsigned calls;\n"
            "__device__ __noinline__ unsigned fold(unsigned x, unsigned n)\n"
            "{ return n ? fold(x * 3 + n, n - 1) : x; }\n");
    for (unsigned j = 0; j < count; j++)
        fprintf(file, "extern \"C\" __global__ void k%u(unsigned *out)\n{\n"
                "__shared__ unsigned s[64];\n"
                "unsigned i = threadIdx.y * blockDim.x + threadIdx.x;\n"
                "s[i] = fold(out[i], %u) * table[i & 3];\n__syncthreads();\n"
                "if (s[i] & 8) out[63 - i] = s[63 - i] + %u;\n"
                "else out[63 - i] = s[63 - i] ^ s[i];\n"
                "if (i == 0) calls++;\n}\n", j, j % 5, j);
    assert_int_equal(fclose(file), 0);
}

static void check_one(unsigned j, unsigned width)
{
    static const unsigned table[] = {3, 5, 7, 11};
    unsigned out[THREADS], s[THREADS], *address = out;
    const void *arguments[] = {&address};
    char name[16];
    for (unsigned i = 0; i < THREADS; i++) {
        s[i] = out[i] = i * 2654435761u;
        for (unsigned n = j % 5; n > 0; n--)
            s[i] = s[i] * 3 + n;
        s[i] *= table[i & 3];
    }
    snprintf(name, sizeof name, "k%u", j);
    if (built_run(&built, name, (rnl_dim3){1},
                  (rnl_dim3){width, THREADS / width}, 0,
                  arguments) != RNL_OK)
        fail_msg("%s: %s", name, built.failure);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(out[THREADS - 1 - i],
                         s[i] & 8 ? s[THREADS - 1 - i] + j
                                  : (s[THREADS - 1 - i] ^ s[i]));
}

// Several processes compile as many as that.
RNL_TEST(sixty_kernels_in_one_source)
{
    enum { COUNT = 60 };
    need_simt();
    write_many(COUNT);
    built_make(&built, "--source @/k.cu --option --tier=B");
    assert_string_equal(built.log, "");
    for (unsigned j = 0; j < COUNT; j++)
        for (unsigned width = 4; width <= THREADS; width *= 2)
            check_one(j, width);
    built_close(&built);
}

static uint64_t object_size(void)
{
    struct stat status;
    assert_int_equal(stat(built.object, &status), 0);
    return (uint64_t)status.st_size;
}

// Twice as many are the same tier's, and their code grows no faster.
static void grows_in_tier_f(const struct kind *kind, unsigned count)
{
    uint64_t sizes[2];
    need_simt();
    for (unsigned i = 0; i < 2; i++) {
        write_kernel(kind, i ? count : count / 2);
        built_make(&built, "--source @/k.cu");
        assert_string_equal(built.log, "");
        assert_null(built_kernel(&built, "k")->run_blocks);
        sizes[i] = object_size();
        check(kind, i ? count : count / 2);
        built_close(&built);
    }
    print_message("%u: %llu bytes\n", count, (unsigned long long)sizes[1]);
    assert_in_range(2 * sizes[1], 0, 5 * sizes[0]);
    assert_in_range(sizes[1], 0, 100 * count);
}

RNL_TEST(six_hundred_loops_with_a_load_and_a_store)
{
    grows_in_tier_f(&loops_in_place, 600);
}

RNL_TEST(twelve_hundred_branches_around_a_load_and_a_store)
{
    grows_in_tier_f(&branches_in_place, 1200);
}

RNL_TEST(fewer_blocks_are_not)
{
    need_simt();
    compile(&loops, 60);
}
