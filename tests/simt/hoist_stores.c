// Stores of shared memory that stand as early as they may.
#include "parse.h"

#include <string.h>

#define ARRAY ", !noalias !2\n"
#define SHARED ", !alias.scope !2\n"

#define MARKS "!0 = distinct !{!0}\n!1 = distinct !{!1, !0}\n!2 = !{!1}\n"

static char *changed(const char *body)
{
    LLVMModuleRef module = parse_module(simt_format(
        "@other = external hidden thread_local global [64 x i32]\n"
        "declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, "
        "<8 x i32>)\n"
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)\n"
        "define void @f(ptr %%p, i64 %%i, i1 %%c, <8 x i32> %%v, <8 x i1> %%m)"
        " {\n"
        "begin:\n"
        "  %%t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  %%o = call ptr @llvm.threadlocal.address.p0(ptr @other)\n"
        "  %%t8 = getelementptr i32, ptr %%t, i64 8\n"
        "  %%t7 = getelementptr i32, ptr %%t, i64 7\n"
        "  %%ti = getelementptr i32, ptr %%t, i64 %%i\n"
        "%s}\n" MARKS, body));
    hoist_stores(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

// Whether a store of the first 32 bytes passes what stands before it.
static bool passes(const char *before)
{
    char *text = changed(simt_format(
        "  br label %%next\n"
        "next:\n"
        "  %%begin1 = add i64 %%i, 1\n"
        "%s"
        "  store <8 x i32> %%v, ptr %%t" SHARED
        "  br i1 %%c, label %%end, label %%next\n"
        "end:\n  ret void\n", before));
    const char *store = strstr(text, "store <8 x i32> %v");
    assert_non_null(store);
    return store < strstr(text, "%begin1");
}

RNL_TEST(stores_pass_what_they_do_not_touch)
{
    static const char *const before[] = {
        "  %a = load <8 x i32>, ptr %t8" SHARED,
        "  %a = load <8 x i32>, ptr %p" ARRAY,
        "  %a = load <8 x i32>, ptr %o" SHARED,
        "  store <8 x i32> %v, ptr %t8" SHARED,
        "  %a = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %t8, i32 4, "
        "<8 x i1> %m, <8 x i32> %v)" SHARED,
        "  call void @llvm.prefetch.p0(ptr %p, i32 0, i32 3, i32 1)\n"};
    for (unsigned i = 0; i < 6; i++)
        assert_true(passes(before[i]));
}

RNL_TEST(stores_stay_behind_what_they_may_touch)
{
    static const char *const before[] = {
        "  %a = load <8 x i32>, ptr %t" SHARED,
        "  %a = load <8 x i32>, ptr %t7" SHARED,
        "  %a = load i32, ptr %ti" SHARED,
        "  %a = load i32, ptr %p\n",
        "  %a = load volatile i32, ptr %t8" SHARED,
        "  store i32 1, ptr %t\n",
        "  store i32 1, ptr %ti\n",
        "  %a = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr %t7, i32 4, "
        "<8 x i1> %m, <8 x i32> %v)" SHARED,
        "  call void @use(i32 1)\n",
        "  fence seq_cst\n",
        "  %a = atomicrmw add ptr %p, i32 1 seq_cst\n",
        "  %a = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst\n",
        "  %a = load atomic i32, ptr %p acquire, align 4\n"};
    for (unsigned i = 0; i < 13; i++)
        assert_false(passes(before[i]));
}

RNL_TEST(stores_stay_behind_what_they_store)
{
    char *text = changed(
        "  %x = add <8 x i32> %v, %v\n"
        "  %a = load <8 x i32>, ptr %t8" SHARED
        "  store <8 x i32> %x, ptr %t" SHARED "  ret void\n");
    assert_true(strstr(text, "%x =") < strstr(text, "store"));
    assert_true(strstr(text, "store") < strstr(text, "%a ="));
}

RNL_TEST(arrays_are_stored_where_they_were)
{
    char *text = changed(
        "  %a = load <8 x i32>, ptr %t8" SHARED
        "  store <8 x i32> %v, ptr %p" ARRAY "  ret void\n");
    assert_true(strstr(text, "%a =") < strstr(text, "store"));
}

#define LOOP(first, round) \
    first \
    "again:\n" \
    "  %s = phi <8 x i32> [ %v, %begin ], [ %sum, %round ]\n" \
    "  store <8 x i32> %s, ptr %t" SHARED \
    "  %n = call i1 @ask(i32 1)\n" \
    "  br i1 %n, label %round, label %end\n" \
    "round:\n" \
    "  %a = load <8 x i32>, ptr %t" SHARED \
    "  %sum = add <8 x i32> %s, %a\n" \
    "  %b = load <8 x i32>, ptr %t8" SHARED \
    round \
    "end:\n  ret void\n"

RNL_TEST(rounds_store_for_the_next_one)
{
    char *text = changed(LOOP("  br label %again\n", "  br label %again\n"));
    const char *first = strstr(text, "store <8 x i32> %v, ptr %t,");
    const char *next = strstr(text, "store <8 x i32> %sum, ptr %t,");
    assert_non_null(first);
    assert_non_null(next);
    assert_true(first < strstr(text, "again:"));
    assert_true(strstr(text, "%sum =") < next && next < strstr(text, "%b ="));
    assert_null(strstr(text, "store <8 x i32> %s,"));
}

RNL_TEST(blocks_that_lead_elsewhere_store_nothing)
{
    static const char *const texts[] = {
        LOOP("  br i1 %c, label %again, label %end\n", "  br label %again\n"),
        LOOP("  br label %again\n", "  br i1 %c, label %again, label %end\n"),
        LOOP("  switch i64 %i, label %again [ i64 1, label %end ]\n",
             "  br label %again\n")};
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(strstr(changed(texts[i]), "store <8 x i32> %s,"));
}
