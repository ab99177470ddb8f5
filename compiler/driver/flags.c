#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Macros that #if in a kernel source may test. The architecture is the oldest
// that has every function of the prelude.
static const char *const predefined[] = {
    "-D__CUDACC__=1",       "-D__CUDACC_RTC__=1",      "-D__CUDA_ARCH__=800",
    "-D__CUDA_ARCH_LIST__=800", "-D__CUDACC_VER_MAJOR__=12",
    "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
    "-DCUDART_VERSION=12000", "-D__CUDART_API_VERSION=12000",
    "-U__SIZEOF_INT128__",  "-D__RUNNEL__=1",      "-D__RUNNEL_CPU__=1",
    // Headers whose contents are built in, as in NVRTC: those of a toolkit that
    // -I names have nothing to add.
    "-D__CUDA_RUNTIME_H__", "-D__CUDA_RUNTIME_API_H__", "-D__HOST_DEFINES_H__",
    "-D__DEVICE_TYPES_H__", "-D__DRIVER_TYPES_H__", "-D__SURFACE_TYPES_H__",
    "-D__TEXTURE_TYPES_H__", "-D__VECTOR_TYPES_H__", "-D__VECTOR_FUNCTIONS_H__",
    "-D__DEVICE_LAUNCH_PARAMETERS_H__", "-D__DEVICE_ATOMIC_FUNCTIONS_H__",
    "-D__SURFACE_INDIRECT_FUNCTIONS_H__", "-D__TEXTURE_INDIRECT_FUNCTIONS_H__",
    "-D__SM_30_INTRINSICS_H__", "-D__SM_32_INTRINSICS_H__",
    "-D__SM_35_INTRINSICS_H__", "-D__SM_35_ATOMIC_FUNCTIONS_H__",
    "-D__COMMON_FUNCTIONS_H__", "-D__MATH_FUNCTIONS_H__",
    "-D__DEVICE_FUNCTIONS_H__",
    // NVRTC reads these two headers when they are included directly; they would
    // declare built-in functions again, in words that do not exist here.
    "-D__VECTOR_FUNCTIONS_HPP__", "-D__CUDA_DEVICE_RUNTIME_API_H__",
};

static const char *const always[] = {
    "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
    "-fno-threadsafe-statics", "-fno-math-errno", "-fno-trapping-math",
    "-fno-strict-aliasing", "-fsigned-char", "-fdeclspec",
    "-ffunction-sections", "-fdata-sections", "-fcheck-new", "-nostdinc",
    "-nostdinc++", "-fmessage-length=0", "-fdiagnostics-color=never",
    "-Wno-unknown-pragmas",
#if defined(__x86_64__)
    // A frame larger than a page must not step over the guard below the stack.
    "-fstack-clash-protection",
#endif
};

static void add_folder(struct flags *flags, const char *folder)
{
    char here[4096];
    if (folder[0] == '/')
        list_format(&flags->arguments, "-I%s", folder);
    else if (getcwd(here, sizeof here))
        list_format(&flags->arguments, "-I%s/%s", here, folder);
    else
        list_format(&flags->arguments, "-I./%s", folder);
}

// "X=1" or "X", as a directive.
static void add_define(struct flags *flags, const char *value)
{
    int size = (int)strcspn(value, "=");
    text_format(&flags->defines, "#define %.*s %s\n", size, value,
                value[size] ? value + size + 1 : "1");
}

static void copy_includes(const struct choices *choices, struct flags *flags)
{
    for (size_t i = 0; i < choices->folders.count; i++)
        add_folder(flags, choices->folders.items[i]);
    // To a compiler, a word that begins with '@' is a file of options.
    for (size_t i = 0; i < choices->includes.count; i++)
        list_format(&flags->includes, "%s%s",
                    choices->includes.items[i][0] == '@' ? "./" : "",
                    choices->includes.items[i]);
    for (size_t i = 0; i < choices->macros.count; i++) {
        const char *macro = choices->macros.items[i];
        if (macro[0] == 'D')
            add_define(flags, macro + 1);
        else
            text_format(&flags->defines, "#undef %s\n", macro + 1);
    }
}

// Debuggers are to look for the source where the user's compiler would have.
static void add_debug(const struct choices *choices, struct list *arguments)
{
    char here[4096];
    list_add(arguments, choices->debug ? "-g" : "-g1");
    if (work_folder() && getcwd(here, sizeof here))
        list_format(arguments, "-fdebug-prefix-map=%s=%s", work_folder(),
                    here);
}

static void add_arithmetic(const struct choices *choices,
                           struct list *arguments)
{
    list_add(arguments,
             choices->contract ? "-ffp-contract=fast" : "-ffp-contract=off");
    if (!choices->precise_division)
        list_add(arguments, "-freciprocal-math");
    if (choices->flush)
        list_add(arguments, "-DRNL_FLUSH=1");
    list_format(arguments, "-D__CUDA_FTZ=%d", choices->flush);
    list_format(arguments, "-D__CUDA_PREC_DIV=%d", choices->precise_division);
    list_add(arguments, "-D__CUDA_PREC_SQRT=1");
    list_format(arguments, "-D__USE_FAST_MATH__=%d", choices->approximate);
}

static void add_code_generation(const struct choices *choices,
                                struct list *arguments)
{
    list_add(arguments, choices->debug ? "-O0" : "-O2");
    if (choices->debug || choices->line_info)
        add_debug(choices, arguments);
    add_arithmetic(choices, arguments);
    // clang's loop vectoriser miscompiles masked induction variables such as
    // s[(i * 3) & 127] (llvm-project issue 156849; seen in 14, 16 and 19).
    list_add(arguments, "-fno-vectorize");
    // Numbers beyond an integer's ends become these, as on a GPU.
    list_add(arguments, "-fno-strict-float-cast-overflow");
#if defined(__x86_64__)
    // LLVM searches for mask-register forms again at every value of a chain,
    // which takes seconds for a chain of thousands.
    list_add(arguments, "-mllvm");
    list_add(arguments, "-disable-x86-domain-reassignment");
#endif
    // CUDA has no such feature; source/diagnostics.c words the error. -w would
    // hide the warning, so the other effects of -w are dropped there as well.
    list_add(arguments, "-Werror=vla");
    // Variables of CUDA end with their module, without any code.
    list_add(arguments, "-fno-c++-static-destructors");
    // `#pragma unroll` asks; it does not insist. __forceinline__ may stand
    // beside `inline` or alone. Lists may narrow: int2{threadIdx.x, 1}.
    list_add(arguments, "-Wno-pass-failed");
    list_add(arguments, "-Wno-duplicate-decl-specifier");
    list_add(arguments, "-Wno-register");  // as before C++17
    list_add(arguments, "-Wno-c++11-narrowing");
    list_add(arguments, "-Wno-cuda-compat");  // #pragma unroll (4)
    list_format(arguments, "-march=%s", choices->target);
    for (size_t i = 0; i < choices->passed.count; i++)
        list_add(arguments, choices->passed.items[i]);
    if (choices->no_warnings)
        list_add(arguments, "-Wno-error");  // nor what the user makes errors
}

void flags_make(const struct choices *choices, struct flags *flags)
{
    struct list *arguments = &flags->arguments;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        list_add(arguments, always[i]);
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        list_add(arguments, predefined[i]);
    list_add(arguments, "-I" CC_HEADER_FOLDER);
    list_add(arguments, "-I" CC_PARTS_FOLDER);
    copy_includes(choices, flags);
    text_add(&flags->defines, "#ifdef NDEBUG\n#undef assert\n"
                              "#define assert(...) ((void)0)\n#endif\n");
    list_add(arguments, choices->standard);
    list_add(arguments, "-idirafter");
    list_add(arguments, CC_STUB_FOLDER);
    add_code_generation(choices, arguments);
}
