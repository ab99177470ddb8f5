// How memory is loaded and stored.
#include "parse.h"

#include <string.h>

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

// %p and %q: the thread's places in two arrays of numbers.
#define PLACES                                                          \
    "  %first = load ptr, ptr %run\n"                                   \
    "  %second.at = getelementptr ptr, ptr %run, i64 1\n"               \
    "  %second = load ptr, ptr %second.at\n"                            \
    "  %to = load ptr, ptr %first\n  %from = load ptr, ptr %second\n"   \
    "  %x = call i32 @rnl_thread_x()\n  %i = zext i32 %x to i64\n"      \
    "  %p = getelementptr i32, ptr %to, i64 %i\n"                       \
    "  %q = getelementptr i32, ptr %from, i64 %i\n"

// --- Arguments ---------------------------------------------------------------

// True if the code loads an argument of that type in the loop over blocks.
static bool loads_late(const char *text, const char *type)
{
    const char *at = strstr(text, "\nblock:");
    assert_non_null(at);
    for (; (at = strstr(at, type)); at++) {
        size_t line = strcspn(at, "\n");
        const char *mark = strstr(at, "!invariant.load");
        if (mark && mark < at + line)
            return true;
    }
    return false;
}

// Reads a number of the argument %third behind a condition.
#define BEHIND(before, type, use)                                            \
    PLACES before "  %most = load i32, ptr %q\n"                             \
    "  %c = icmp ult i32 %x, %most\n"                                        \
    "  br i1 %c, label %then, label %end\nthen:\n"                           \
    "  %third.at = getelementptr ptr, ptr %run, i64 2\n"                     \
    "  %third = load ptr, ptr %third.at\n"                                   \
    "  %value = load " type ", ptr %third\n" use                             \
    "  br label %end\nend:\n  ret void\n"

RNL_TEST(arguments_behind_a_condition_are_loaded_once)
{
    char *text = code_for(
        "x86-64-v4", BEHIND("", "i32", "  store i32 %value, ptr %p\n"));
    assert_false(loads_late(text, "load i32"));
    assert_false(loads_late(text, "load ptr"));
}

// Where the function begins, the index is not known yet.
RNL_TEST(parts_of_arguments_at_an_index_are_loaded_in_place)
{
    char *text = code_for(
        "x86-64-v4",
        BEHIND("  %block = call i32 @rnl_block_x()\n"
               "  %k = zext i32 %block to i64\n", "i32",
               "  %part.at = getelementptr [4 x i32], ptr %third, i64 0, "
               "i64 %k\n  %part = load i32, ptr %part.at\n"
               "  store i32 %part, ptr %p\n"));
    const char *at = strstr(text, "getelementptr [4 x i32]");
    assert_true(at > strstr(text, "\nblock:"));
}

RNL_TEST(floats_and_arguments_of_kernels_with_barriers_are_loaded_in_place)
{
    char *text = code_for("x86-64-v4",
                          BEHIND("", "float", "  store float %value, ptr %p\n"));
    assert_true(loads_late(text, "load float"));
    text = code_for("x86-64-v4",
                    BEHIND("  call i32 @rnl_sync(i32 0, i32 0)\n", "i32",
                           "  store i32 %value, ptr %p\n"));
    assert_true(loads_late(text, "load i32"));
}

// --- Lanes apart -------------------------------------------------------------

#define LOAD_APART                                      \
    "  %j = mul nuw nsw i64 %i, 5\n"                    \
    "  %r = getelementptr i32, ptr %from, i64 %j\n"     \
    "  %v = load i32, ptr %r\n  store i32 %v, ptr %p\n"

RNL_TEST(lanes_at_a_distance_are_loaded_one_by_one)
{
    // The last lane's.
    char *text = code_for(NULL, PLACES LOAD_APART "  ret void\n");
    assert_true(has(text, ", i64 620\n"));
}

RNL_TEST(lanes_that_went_apart_gather_even_when_all_are_there)
{
    // One copy is of lanes that are still together.
    char *text = code_for(
        NULL, PLACES "  %most = load i32, ptr %q\n  br label %round\n"
                     "round:\n  %n = phi i32 [ 0, %0 ], [ %m, %round ]\n"
                     LOAD_APART "  %m = add i32 %n, 1\n"
                     "  %more = icmp ult i32 %m, %most\n"
                     "  br i1 %more, label %round, label %end\n"
                     "end:\n  store i32 %m, ptr %p\n  ret void\n");
    const char *once = strstr(text, ", i64 620\n");
    assert_non_null(once);
    assert_false(has(once + 1, ", i64 620\n"));
}

// Under a mask.
#define SOME(access)                                                   \
    PLACES "  %most = load i32, ptr %q\n  %c = icmp ult i32 %x, %most\n" \
    "  br i1 %c, label %then, label %end\nthen:\n" access              \
    "  br label %end\nend:\n  ret void\n"

RNL_TEST(lanes_at_a_distance_go_by_halves_under_a_mask)
{
    char *text = code_for("x86-64-v4", SOME(LOAD_APART));
    assert_true(has(text, "@llvm.masked.gather.v16i32"));
    text = code_for("x86-64-v4",
                    SOME("  %j = mul nuw nsw i64 %i, 5\n"
                         "  %r = getelementptr i32, ptr %to, i64 %j\n"
                         "  store i32 %x, ptr %r\n"));
    assert_true(has(text, "@llvm.masked.scatter.v16i32"));
    assert_false(has(code_for("x86-64-v3", SOME(LOAD_APART)), ".v16i32"));
}

// --- Backwards ---------------------------------------------------------------

#define LOAD_BACK                                                       \
    "  %j = sub nsw i64 9, %i\n  %r = getelementptr i8, ptr %from, i64 %j\n" \
    "  %b = load i8, ptr %r\n  %v = zext i8 %b to i32\n"                \
    "  store i32 %v, ptr %p\n"

RNL_TEST(rows_that_go_backwards_are_rows)
{
    char *text = code_for("x86-64-v4", PLACES LOAD_BACK "  ret void\n");
    assert_true(has(text, "load <32 x i8>"));
    assert_false(has(text, "gather"));
    text = code_for("x86-64-v4", SOME(LOAD_BACK));
    assert_true(has(text, "@llvm.masked.load.v32i8"));
    assert_false(has(text, "gather"));
}

// --- Places all over ---------------------------------------------------------

// A load of a lane's own place, by the lanes of a branch.
static char *guarded_load(const char *type)
{
    return code_for("x86-64-v4", simt_format(
        "%s  %%v = load i32, ptr %%q\n  %%c = icmp sgt i32 %%v, 0\n"
        "  br i1 %%c, label %%then, label %%end\n"
        "then:\n  %%w = sext i32 %%v to i64\n"
        "  %%r = getelementptr i8, ptr %%from, i64 %%w\n"
        "  %%b = load %s, ptr %%r\n  %%n = zext %s %%b to i64\n"
        "  store i64 %%n, ptr %%p\n  br label %%end\n"
        "end:\n  ret void\n", PLACES, type, type));
}

RNL_TEST(what_has_no_gathers_is_loaded_by_all_lanes)
{
    assert_true(has(guarded_load("i8"), "ptr @rnl_nowhere"));
    assert_true(has(guarded_load("i16"), "ptr @rnl_nowhere"));
    assert_false(has(guarded_load("i32"), "ptr @rnl_nowhere"));
}

// --- Ahead -------------------------------------------------------------------

#define FOUR(text) text(1) text(2) text(3) text(4)
#define STEP(n) "  call void @use(i32 " #n ")\n"
#define SIXTEEN FOUR(STEP) FOUR(STEP) FOUR(STEP) FOUR(STEP)
#define COPY "  %v = load i32, ptr %q\n  store i32 %v, ptr %p\n"

#define MUCH SIXTEEN SIXTEEN SIXTEEN

RNL_TEST(memory_is_asked_for_ahead_where_there_is_much_to_do)
{
    char *text = code_for(NULL, PLACES MUCH COPY "  ret void\n");
    assert_true(has(text, "@llvm.prefetch"));
    assert_true(has(text, ", i64 8192\n"));
}

RNL_TEST(all_rows_together_are_asked_for_so_far_ahead)
{
    char *text = code_for(NULL, PLACES MUCH COPY
                         "  %w = load i32, ptr %p\n  call void @use(i32 %w)\n"
                         "  ret void\n");
    assert_true(has(text, ", i64 4096\n"));
    assert_false(has(text, ", i64 8192\n"));
}

RNL_TEST(a_few_instructions_ask_for_nothing_ahead)
{
    assert_false(has(code_for(NULL, PLACES COPY "  ret void\n"),
                     "@llvm.prefetch"));
}

RNL_TEST(processors_that_foresee_rows_are_asked_for_none)
{
    static const char body[] = PLACES MUCH COPY "  ret void\n";
    assert_true(has(code_for("x86-64-v4", body), "@llvm.prefetch"));
    assert_true(has(code_for("znver5", body), "@llvm.prefetch"));
    assert_false(has(code_for("znver4", body), "@llvm.prefetch"));
}

// --- Indices of shared atomics -----------------------------------------------

// How often indices are stored for lanes, or one is taken, where this stands
// between the load of an index and its use. Gangs with lanes missing always
// do.
static unsigned stored_indices(const char *between)
{
    static const char load[] =
        PLACES "  %s = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  %v = load i32, ptr %q\n";
    static const char use[] =
        "  %low = and i32 %v, 63\n  %wide = zext i32 %low to i64\n"
        "  %bin = getelementptr i32, ptr %s, i64 %wide\n"
        "  %old = atomicrmw add ptr %bin, i32 1 monotonic\n  ret void\n";
    char *text = code_for("x86-64-v4",
                         simt_format("%s%s%s", load, between, use));
    unsigned count = 0;
    while ((text = strstr(text + 1, "%spill")))
        count++;
    return count;
}

RNL_TEST(lanes_read_again_what_nobody_can_have_written)
{
    unsigned least = stored_indices("");
    assert_int_equal(stored_indices("  store i32 1, ptr %s\n"), least);
    assert_true(stored_indices("  store i32 1, ptr %p\n") > least);
    assert_true(stored_indices("  call void @use(i32 1)\n") > least);
    assert_true(stored_indices("  fence seq_cst\n") > least);
}

// --- Past the caches ---------------------------------------------------------

// Four rounds; the place stored to is `index` units behind the thread's.
#define ROUNDS_OF(unit, index)                                            \
    PLACES "  br label %loop\n"                                           \
    "loop:\n  %n = phi i64 [ 0, %0 ], [ %m, %loop ]\n"                    \
    "  %some = " index "\n"                                               \
    "  %r = getelementptr " unit ", ptr %p, i64 %some\n"                  \
    "  store i32 %x, ptr %r\n  %m = add nuw nsw i64 %n, 1\n"             \
    "  %c = icmp ult i64 %m, 4\n"                                         \
    "  br i1 %c, label %loop, label %end\nend:\n  ret void\n"
#define ROUNDS(step) ROUNDS_OF("i32", "mul nuw nsw i64 %n, " step)
#define ROUNDS_BY(index) ROUNDS_OF("[4096 x i32]", index)

#define PAST "!nontemporal"

RNL_TEST(whole_lines_go_past_the_caches)
{
    assert_true(has(code_for("x86-64-v3", PLACES COPY "  ret void\n"), PAST));
    assert_true(has(code_for("x86-64-v4", PLACES COPY "  ret void\n"), PAST));
}

RNL_TEST(in_loops_where_one_store_is_a_line)
{
    assert_true(has(code_for("x86-64-v4", ROUNDS("4096")), PAST));
    assert_false(has(code_for("x86-64-v3", ROUNDS("4096")), PAST));
}

RNL_TEST(what_a_loop_stores_again_stays_in_the_caches)
{
    static const char again[] =
        PLACES "  br label %loop\n"
        "loop:\n  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n"
        "  store i32 %n, ptr %p\n  %m = add nuw nsw i32 %n, 1\n"
        "  %c = icmp ult i32 %m, 4\n"
        "  br i1 %c, label %loop, label %end\nend:\n  ret void\n";
    assert_false(has(code_for("x86-64-v4", again), PAST));
}

// By less than the lanes store together.
RNL_TEST(what_a_loop_moves_little_stays_in_the_caches)
{
    assert_false(has(code_for("x86-64-v4", ROUNDS("1")), PAST));
    assert_false(has(code_for("x86-64-v4", ROUNDS("31")), PAST));
    assert_true(has(code_for("x86-64-v4", ROUNDS("32")), PAST));
    assert_true(has(code_for("x86-64-v4", ROUNDS("%i")), PAST));
}

// The same few rows, over and over.
RNL_TEST(what_a_loop_comes_back_to_stays_in_the_caches)
{
    assert_false(has(code_for("x86-64-v4", ROUNDS_BY("and i64 %n, 1")), PAST));
    assert_false(has(code_for("x86-64-v4", ROUNDS_BY("lshr i64 %n, 6")), PAST));
    assert_false(has(code_for("x86-64-v4", ROUNDS_BY("urem i64 %n, 3")), PAST));
    assert_true(has(code_for("x86-64-v4", ROUNDS_BY("shl i64 %n, 1")), PAST));
}

// To and fro.
RNL_TEST(what_a_loop_takes_turns_with_stays_in_the_caches)
{
    static const char turns[] =
        PLACES "  br label %loop\n"
        "loop:\n  %n = phi i64 [ 0, %0 ], [ %m, %loop ]\n"
        "  %k = phi i64 [ 0, %0 ], [ %l, %loop ]\n"
        "  %r = getelementptr [4096 x i32], ptr %p, i64 %n\n"
        "  store i32 %x, ptr %r\n  %m = sub i64 1, %n\n"
        "  %l = add nuw nsw i64 %k, 1\n  %c = icmp ult i64 %l, 4\n"
        "  br i1 %c, label %loop, label %end\nend:\n  ret void\n";
    assert_false(has(code_for("x86-64-v4", turns), PAST));
}

// The inner loop moves on, the outer one comes to all places again.
RNL_TEST(what_an_outer_loop_stores_again_does_too)
{
    static const char again[] =
        PLACES "  br label %outer\n"
        "outer:\n  %o = phi i32 [ 0, %0 ], [ %u, %next ]\n"
        "  br label %loop\n"
        "loop:\n  %n = phi i64 [ 0, %outer ], [ %m, %loop ]\n"
        "  %r = getelementptr [4096 x i32], ptr %p, i64 %n\n"
        "  store i32 %o, ptr %r\n  %m = add nuw nsw i64 %n, 1\n"
        "  %c = icmp ult i64 %m, 4\n"
        "  br i1 %c, label %loop, label %next\n"
        "next:\n  %u = add nuw nsw i32 %o, 1\n"
        "  %d = icmp ult i32 %u, 4\n"
        "  br i1 %d, label %outer, label %end\nend:\n  ret void\n";
    assert_false(has(code_for("x86-64-v4", again), PAST));
}

RNL_TEST(a_loop_with_much_to_do_stores_into_the_caches)
{
    static const char busy[] =
        PLACES "  br label %loop\n"
        "loop:\n  %n = phi i64 [ 0, %0 ], [ %m, %loop ]\n"
        SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN
        "  %r = getelementptr [4096 x i32], ptr %p, i64 %n\n"
        "  store i32 %x, ptr %r\n  %m = add nuw nsw i64 %n, 1\n"
        "  %c = icmp ult i64 %m, 4\n"
        "  br i1 %c, label %loop, label %end\nend:\n  ret void\n";
    assert_false(has(code_for("x86-64-v4", busy), PAST));
}

// What memory form is made of does not count: branches make much of it.
RNL_TEST(brief_kernels_with_branches_go_past_the_caches)
{
#define SIDE(n) "  br i1 %c, label %a" #n ", label %b" #n "\na" #n ":\n"      \
                "  store i32 7, ptr %q\n  br label %b" #n "\nb" #n ":\n"
    char *text = code_for(
        "x86-64-v4",
        PLACES "  %most = load i32, ptr %second\n"
               "  %c = icmp ult i32 %most, 5\n"
               SIDE(1) SIDE(2) SIDE(3) SIDE(4) SIDE(5) SIDE(6) SIDE(7) SIDE(8)
               SIDE(9) SIDE(10) SIDE(11) SIDE(12) SIDE(13) SIDE(14) SIDE(15)
               "  store i32 %x, ptr %p\n  ret void\n");
#undef SIDE
    assert_true(has(text, PAST));
}
