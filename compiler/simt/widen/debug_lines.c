// Lines of the source in vector code. The code of a variant counts as a
// function of its own, into which the thread's was inlined.
#include "simt/widen/widen.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

// Shared by all kernels, and made with the first kernel that has lines.
static LLVMDIBuilderRef builder;

static void begin_unit(struct emitter *e, LLVMMetadataRef file)
{
    if (builder)
        return;
    static const char producer[] = "runnel";
    builder = LLVMCreateDIBuilder(e->module);
    LLVMDIBuilderCreateCompileUnit(
        builder, LLVMDWARFSourceLanguageC_plus_plus_14, file, producer,
        strlen(producer), 1, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly,
        0, 0, 0, "", 0, "", 0);
}

void debug_lines_begin(struct emitter *e)
{
    LLVMMetadataRef thread = LLVMGetSubprogram(e->kernel->function);
    if (!thread)
        return;
    LLVMMetadataRef file = LLVMDIScopeGetFile(thread);
    begin_unit(e, file);
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(builder, file, NULL, 0,
                                          LLVMDIFlagZero);
    size_t size;
    const char *name = LLVMGetValueName2(e->function, &size);
    unsigned line = LLVMDISubprogramGetLine(thread);
    LLVMMetadataRef own = LLVMDIBuilderCreateFunction(
        builder, file, name, size, name, size, file, line, type, 1, 1, line,
        LLVMDIFlagArtificial, 1);
    LLVMSetSubprogram(e->function, own);
    e->line = LLVMDIBuilderCreateDebugLocation(e->context, line, 0, own, NULL);
    LLVMSetCurrentDebugLocation2(e->builder, e->line);
}

// The same place, inlined into the variant.
static LLVMMetadataRef inlined(struct emitter *e, LLVMMetadataRef location)
{
    LLVMMetadataRef outer = LLVMDILocationGetInlinedAt(location);
    return LLVMDIBuilderCreateDebugLocation(
        e->context, LLVMDILocationGetLine(location),
        LLVMDILocationGetColumn(location), LLVMDILocationGetScope(location),
        outer ? inlined(e, outer) : e->line);
}

void debug_lines_at(struct emitter *e, LLVMValueRef at)
{
    if (!e->line)
        return;
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(at);
    LLVMSetCurrentDebugLocation2(e->builder, location ? inlined(e, location)
                                                      : e->line);
}

void debug_lines_finish(void)
{
    if (builder)
        LLVMDIBuilderFinalize(builder);
}
