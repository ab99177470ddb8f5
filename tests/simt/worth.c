// Where threads one by one are faster than lanes.
#include "parse.h"

static const struct variant rows = {32, true, 0, "rows"};

// A loop over 16 places of an array of the thread's own: `first` stands before
// it, `round` in it, with the round %n and the last number read %old.
#define LOOP(first, round)                                                  \
    "  %a = alloca [16 x i32]\n  %t = call i32 @rnl_thread_x()\n" first     \
    "  br label %loop\n"                                                    \
    "loop:\n  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n"                     \
    "  %old = phi i32 [ %t, %0 ], [ %new, %loop ]\n" round                  \
    "  %p = getelementptr [16 x i32], ptr %a, i32 0, i32 %at\n"            \
    "  %x = load i32, ptr %p\n  %new = add i32 %x, %old\n"                 \
    "  store i32 %new, ptr %p\n  %m = add i32 %n, 1\n"                     \
    "  %c = icmp ult i32 %m, 16\n"                                         \
    "  br i1 %c, label %loop, label %end\n"                                \
    "end:\n  call void @use(i32 %new)\n  ret void\n"

#define ITS_WAY "  %at = and i32 %old, 15\n"
#define ONE_WAY "  %at = and i32 %n, 15\n"

static bool gain(const char *body)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    struct shapes shapes = {.kernel = kernel, .variant = &rows};
    shapes_find(&shapes);
    return lanes_gain(&shapes);
}

RNL_TEST(lanes_do_not_gain_where_each_goes_its_way)
{
    assert_false(gain(LOOP("", ITS_WAY)));
    assert_true(gain(LOOP("", ONE_WAY)));
}

RNL_TEST(lanes_gain_where_they_do_much_else)
{
    assert_true(gain(LOOP(
        "", "  %b = mul i32 %old, 3\n  %d = xor i32 %b, %n\n"
            "  %e = mul i32 %d, 5\n  %f = xor i32 %e, %n\n"
            "  %g = mul i32 %f, 7\n  %h = xor i32 %g, %n\n"
            "  %i = mul i32 %h, 3\n  %j = xor i32 %i, %n\n"
            "  %k = mul i32 %j, 5\n  %l = xor i32 %k, %n\n"
            "  %o = mul i32 %l, 7\n  %q = xor i32 %o, %n\n"
            "  %r = mul i32 %q, 3\n  %s = xor i32 %r, %n\n"
            "  %u = mul i32 %s, 5\n  %v = xor i32 %u, %n\n"
            "  %w = mul i32 %v, 7\n  %y = xor i32 %w, %n\n"
            "  %z = mul i32 %y, 3\n  %zz = xor i32 %z, %n\n"
            "  %at = and i32 %zz, 15\n")));
}

RNL_TEST(lanes_gain_where_they_compute)
{
    assert_true(gain(LOOP("", "  %f = bitcast i32 %old to float\n"
                              "  %g = fmul float %f, %f\n"
                              "  %h = fadd float %g, %f\n"
                              "  %i = bitcast float %h to i32\n"
                              "  %at = and i32 %i, 15\n")));
}

RNL_TEST(lanes_gain_outside_of_loops)
{
    assert_true(gain("  %a = alloca [16 x i32]\n"
                     "  %t = call i32 @rnl_thread_x()\n"
                     "  %at = mul i32 %t, %t\n"
                     "  %p = getelementptr [16 x i32], ptr %a, i32 0, i32 %at\n"
                     "  %x = load i32, ptr %p\n  call void @use(i32 %x)\n"
                     "  ret void\n"));
}

RNL_TEST(lanes_gain_where_threads_wait)
{
    struct kernel *kernel = parse_kernel(LOOP("", ITS_WAY));
    struct shapes shapes = {.kernel = kernel, .variant = &rows};
    kernel->waits = true;
    shapes_find(&shapes);
    assert_true(lanes_gain(&shapes));
}
