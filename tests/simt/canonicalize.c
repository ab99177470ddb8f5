// What modules are brought into: divisions, conversions, variables, attributes.
#include "parse.h"

#include <string.h>

// The constant that @result returns once everything has been computed.
static int64_t result_of(const char *text)
{
    LLVMModuleRef module = parse_module(text);
    lower_arithmetic(module, false);
    verify(module);
    char *message = run_passes(
        module, "always-inline,function(instcombine<no-verify-fixpoint>)");
    if (message)
        fail_msg("%s", message);
    LLVMValueRef function = LLVMGetNamedFunction(module, "result");
    LLVMValueRef end = LLVMGetBasicBlockTerminator(
        LLVMGetEntryBasicBlock(function));
    LLVMValueRef value = LLVMGetOperand(end, 0);
    if (!LLVMIsAConstantInt(value))
        fail_msg("not a constant: %s", LLVMPrintValueToString(value));
    return LLVMConstIntGetSExtValue(value);
}

static int64_t divide(const char *operation, const char *type,
                      const char *values)
{
    return result_of(simt_format(
        "define %s @f(%s %%a, %s %%b) alwaysinline {\n"
        "  %%q = %s %s %%a, %%b\n  ret %s %%q\n}\n"
        "define %s @result() {\n  %%q = call %s @f(%s)\n  ret %s %%q\n}\n",
        type, type, type, operation, type, type, type, type, values, type));
}

// A kernel's stores leave alone what its threads read of their block, but not
// what other functions do.
RNL_TEST(stores_do_not_change_where_threads_are)
{
    static const char text[] =
        "@state = thread_local global [4 x i32] zeroinitializer\n"
        "define i32 @%s() alwaysinline {\n"
        "  %%v = load i32, ptr @state\n  ret i32 %%v\n}\n"
        "define i32 @result(ptr %%p) {\n"
        "  %%a = call i32 @%s()\n  store i32 1, ptr %%p\n"
        "  %%b = call i32 @%s()\n  %%d = sub i32 %%a, %%b\n"
        "  ret i32 %%d\n}\n";
    static const char *const names[] = {"rnl_grid_size_y", "rnl_thread_w"};
    for (unsigned i = 0; i < 2; i++) {
        LLVMModuleRef module =
            parse_module(simt_format(text, names[i], names[i], names[i]));
        tbaa_mark_state(module);
        verify(module);
        assert_null(run_passes(module, "always-inline,function(gvn,"
                                        "instcombine<no-verify-fixpoint>)"));
        LLVMValueRef function = LLVMGetNamedFunction(module, "result");
        LLVMValueRef end = LLVMGetBasicBlockTerminator(
            LLVMGetEntryBasicBlock(function));
        bool same = LLVMIsAConstantInt(LLVMGetOperand(end, 0)) != NULL;
        assert_int_equal(same, i == 0);
    }
}

RNL_TEST(divisions_never_trap)
{
    assert_int_equal(divide("sdiv", "i32", "i32 100, i32 -7"), -14);
    assert_int_equal(divide("srem", "i32", "i32 100, i32 -7"), 2);
    assert_int_equal(divide("udiv", "i32", "i32 100, i32 7"), 14);
    assert_int_equal(divide("urem", "i16", "i16 100, i16 7"), 2);
    // Nobody may rely on these, but there are such.
    divide("sdiv", "i32", "i32 100, i32 0");
    divide("srem", "i64", "i64 100, i64 0");
    divide("udiv", "i64", "i64 100, i64 0");
    divide("urem", "i8", "i8 100, i8 0");
    divide("sdiv", "i32", "i32 -2147483648, i32 -1");
    divide("srem", "i64", "i64 -9223372036854775808, i64 -1");
    assert_int_equal(divide("sdiv", "i32", "i32 2147483647, i32 -1"),
                     -2147483647);
    assert_int_equal(divide("sdiv", "i128", "i128 100, i128 7"), 14);
}

static int64_t convert(const char *operation, const char *from,
                       const char *value, const char *to)
{
    return result_of(simt_format(
        "define %s @f(%s %%a) alwaysinline {\n"
        "  %%q = %s %s %%a to %s\n  ret %s %%q\n}\n"
        "define %s @result() {\n  %%q = call %s @f(%s %s)\n  ret %s %%q\n}\n",
        to, from, operation, from, to, to, to, to, from, value, to));
}

RNL_TEST(conversions_saturate)
{
    assert_int_equal(convert("fptosi", "double", "-2.5", "i32"), -2);
    assert_int_equal(convert("fptosi", "float", "1.0e10", "i32"), INT32_MAX);
    assert_int_equal(convert("fptosi", "float", "-1.0e10", "i32"), INT32_MIN);
    assert_int_equal(convert("fptoui", "float", "-1.0", "i32"), 0);
    assert_int_equal(convert("fptoui", "double", "1.0e300", "i64"), -1);
    assert_int_equal(convert("fptoui", "float", "300.0", "i8"), 44);
    assert_int_equal(convert("fptosi", "float", "0x7FF8000000000000", "i32"),
                     0);
    assert_int_equal(convert("fptosi", "double", "0x7FF8000000000000", "i32"),
                     INT32_MIN);
}

// What becomes of a bool whose byte in memory is this.
static int64_t use_bool(const char *byte, const char *use)
{
    return result_of(simt_format(
        "@g = internal constant i8 %s\n"
        "define i32 @result() {\n  %%b = load i8, ptr @g, !range !0\n"
        "  %%t = trunc i8 %%b to i1\n  %s\n  ret i32 %%r\n}\n"
        "!0 = !{i8 0, i8 2}\n", byte, use));
}

RNL_TEST(bools_are_true_unless_their_byte_is_zero)
{
    static const char condition[] = "%r = select i1 %t, i32 7, i32 3";
    static const char number[] = "%r = zext i1 %t to i32";
    static const char fraction[] = "%f = uitofp i1 %t to float\n"
                                   "  %r = fptosi float %f to i32";
    assert_int_equal(use_bool("0", condition), 3);
    assert_int_equal(use_bool("1", condition), 7);
    assert_int_equal(use_bool("2", condition), 7);
    assert_int_equal(use_bool("-4", condition), 7);
    assert_int_equal(use_bool("1", number), 1);
    assert_int_equal(use_bool("-4", number), -4);
    assert_int_equal(use_bool("-4", fraction), -4);
}

RNL_TEST(divisions_by_constants_stay)
{
    LLVMModuleRef module = parse_module(
        "define i32 @f(i32 %a) {\n  %q = udiv i32 %a, 7\n  ret i32 %q\n}\n");
    lower_arithmetic(module, false);
    LLVMValueRef first = LLVMGetFirstInstruction(
        LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, "f")));
    assert_int_equal(LLVMGetInstructionOpcode(first), LLVMUDiv);
    assert_non_null(LLVMIsAConstantInt(LLVMGetOperand(first, 1)));
}

RNL_TEST(variables_are_shared_by_two_modules)
{
    LLVMModuleRef module = parse_module(
        "$c = comdat any\n"
        "@v = internal global i32 5\n"
        "@c = linkonce_odr global i32 6, comdat\n"
        "@k = internal constant i32 7\n");
    export_variables(module);
    verify(module);
    static const char *const shared[] = {"v", "c"};
    for (size_t i = 0; i < 2; i++) {
        LLVMValueRef global = LLVMGetNamedGlobal(module, shared[i]);
        assert_int_equal(LLVMGetLinkage(global), LLVMExternalLinkage);
        assert_int_equal(LLVMGetVisibility(global), LLVMHiddenVisibility);
    }
    assert_int_equal(LLVMGetLinkage(LLVMGetNamedGlobal(module, "k")),
                     LLVMInternalLinkage);
}

RNL_TEST(processors_of_functions_are_dropped)
{
    LLVMModuleRef module = parse_module(
        "define void @f() #0 {\n  ret void\n}\n"
        "attributes #0 = { \"target-cpu\"=\"znver4\" \"other\"=\"1\" }\n");
    unify_targets(module);
    LLVMValueRef function = LLVMGetNamedFunction(module, "f");
    unsigned where = (unsigned)LLVMAttributeFunctionIndex;
    assert_null(LLVMGetStringAttributeAtIndex(function, where, "target-cpu",
                                              10));
    assert_non_null(LLVMGetStringAttributeAtIndex(function, where, "other",
                                                  5));
}

static void prepare(LLVMModuleRef module)
{
    const struct simt_job job = {0};
    struct compilation c = {.job = &job};
    char *message = passes_run(&c, module, STAGE_CANONICAL);
    if (message)
        fail_msg("%s", message);
    verify(module);
}

RNL_TEST(functions_go_into_kernels)
{
    LLVMModuleRef module = parse_module(
        "define void @rnl_thread_0(ptr %run) noinline optnone {\n"
        "  %v = alloca i32\n  store i32 3, ptr %v\n"
        "  call void @helper(ptr %v)\n  ret void\n}\n"
        "define internal void @helper(ptr %p) noinline {\n"
        "  %a = load i32, ptr %p\n  call void @use(i32 %a)\n  ret void\n}\n"
        "@llvm.used = appending global [1 x ptr] [ptr @helper], "
        "section \"llvm.metadata\"\n");
    prepare(module);
    assert_null(LLVMGetNamedFunction(module, "helper"));
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(
        LLVMGetNamedFunction(module, "rnl_thread_0")));
    assert_non_null(LLVMIsACallInst(first));
    assert_string_equal(callee_name(first), "use");
}

static bool has_unions(LLVMModuleRef module)
{
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        if (LLVMGetInstructionOpcode(at) == LLVMOr && !LLVMGetIsDisjoint(at))
            return true;
    return false;
}

// What is counted becomes 64 bits wide, and the row is cut to 32 again.
RNL_TEST(parts_without_common_bits_are_added)
{
    LLVMModuleRef module = parse_module(
        "define void @rnl_thread_0(ptr %p, ptr %q) {\n"
        "  %t = call i32 @rnl_thread_y()\n  %y = and i32 %t, 7\n"
        "  %b = call i32 @rnl_block_x()\n  %top = shl i32 %b, 5\n"
        "  %n = load i32, ptr %p\n  br label %loop\n"
        "loop:\n  %i = phi i32 [ %y, %0 ], [ %j, %body ]\n"
        "  %c = icmp ult i32 %i, 32\n  br i1 %c, label %body, label %end\n"
        "body:\n  %row = or disjoint i32 %top, %i\n"
        "  %o = mul nsw i32 %row, %n\n  %w = zext i32 %o to i64\n"
        "  %r = getelementptr i32, ptr %q, i64 %w\n"
        "  %v = zext nneg i32 %i to i64\n"
        "  %s = getelementptr i32, ptr %p, i64 %v\n"
        "  %x = load i32, ptr %s\n  store i32 %x, ptr %r\n"
        "  %j = add nuw nsw i32 %i, 8\n  br label %loop\n"
        "end:\n  ret void\n}\n");
    prepare(module);
    assert_false(has_unions(module));
}

static void fill(LLVMModuleRef module, unsigned count)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, "f");
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    for (unsigned i = 0; i < count; i++)
        LLVMBuildFreeze(b, LLVMGetParam(function, 0), "");
    LLVMDisposeBuilder(b);
}

RNL_TEST(instructions_of_huge_modules_are_combined_less_often)
{
    LLVMModuleRef module =
        parse_module("define void @f(i32 %x) {\n  ret void\n}\n");
    fill(module, 9999);
    assert_string_not_equal(combine_again(module), "");
    fill(module, 1);
    assert_string_equal(combine_again(module), "");
}

RNL_TEST(wrong_passes_are_told)
{
    char *message = run_passes(parse_module(""), "no-such-pass");
    assert_non_null(message);
    assert_non_null(strstr(message, "no-such-pass"));
}
