// -ffunction-sections and -fdata-sections, where relocations show what a kernel
// reaches.
#include "simt/ir/ir.h"

static bool has_address(LLVMValueRef constant)
{
    if (LLVMIsAGlobalValue(constant))
        return true;
    int count = LLVMGetNumOperands(constant);
    for (int i = 0; i < count; i++)
        if (has_address(LLVMGetOperand(constant, (unsigned)i)))
            return true;
    return false;
}

static void set_section(LLVMValueRef global, const char *prefix)
{
    size_t length;
    const char *had = LLVMGetSection(global);
    if (!had || !*had)
        LLVMSetSection(global, simt_format("%s%s", prefix,
                                           LLVMGetValueName2(global, &length)));
}

static void set_variable_section(LLVMValueRef global)
{
    LLVMValueRef value = LLVMGetInitializer(global);
    if (LLVMIsThreadLocal(global))
        set_section(global, LLVMIsNull(value) ? ".tbss." : ".tdata.");
    else if (has_address(value))
        set_section(global, LLVMIsGlobalConstant(global) ? ".data.rel.ro."
                                                         : ".data.");
}

void sections_set(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            set_section(f, ".text.");
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            set_variable_section(g);
}
