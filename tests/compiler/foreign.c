// What is neither the source's nor the dialect's: functions of the process that
// loads the object, assembly, and code that its loader would run.
#include "refusal.h"

// What the process has that loads the object is not the kernel's.
RNL_TEST(functions_of_the_process)
{
    static const struct refusal refusals[] = {
        {"extern \"C\" __device__ int system(const char *);\n"
         K "{\n  o[0] = system(\"exit\");\n}", "k.cu:3:",
         "error: undefined reference to `system': a kernel can use what its "
         "source defines and what CUDA has"},
        {"extern \"C\" __device__ int own(const char *) __asm__(\"system\");\n"
         K "{ o[0] = own(\"exit\"); }", "k.cu:2:",
         "undefined reference to `system'"},
        {K "{ o[0] = (int)(long)__builtin_malloc(o[1]); }", "k.cu:1:",
         "undefined reference to `malloc'"},
        {"extern \"C\" __device__ int dlclose(int);\n\n"
         K "{ o[0] = dlclose(1); }", "k.cu:3:",
         "undefined reference to `dlclose'"},
        {"extern \"C\" __device__ char **environ;\n\n"
         K "{ o[0] = environ[0][0]; }", "k.cu:3:",
         "undefined reference to `environ'"},
        {"extern \"C\" __device__ __attribute__((weak)) int getpid();\n"
         K "{ o[0] = getpid ? getpid() : 0; }", "k.cu: ",
         "undefined reference to `getpid'"},
        {"extern \"C\" __attribute__((visibility(\"hidden\")))\n"
         "__device__ int system(const char *);\n" K "{ o[0] = system(\"\"); }",
         "k.cu: ", "undefined reference to `system'"},
        {"extern \"C\" __device__ float _ZGVdN8v_j0f(float);\n\n"
         K "{ o[0] = (int)_ZGVdN8v_j0f(1.0f); }", "k.cu:3:",
         "undefined reference to `_ZGVdN8v_j0f'"},
        {"__device__ int twice(int);\n\n"
         K "{ int (*f)(int) = twice; o[0] = f(o[1]); }", "k.cu:3:",
         "undefined reference to `twice(int)'"},
    };
    REFUSE(refusals);
}

RNL_TEST(declarations_without_use_are_taken)
{
    static const char *const tiers[] = {"auto", "F"};
    built_write(&built, "source",
                "extern \"C\" __device__ int system(const char *);\n"
                "extern __device__ int absent[];\n"
                "__device__ int elsewhere(int);\n"
                "__device__ int never() { return elsewhere(absent[0]); }\n"
                "static __device__ int nor() { return system(\"\"); }\n"
                K "{ o[0] = 1; }");
    for (size_t i = 0; i < 2; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments,
                 "--source @/source --option -w --option --tier=%s", tiers[i]);
        is_taken(arguments);
    }
    built_close(&built);
}

RNL_TEST(assembly_of_the_processor)
{
    static const char sentence[] =
        "inline PTX or other assembly is not supported by Runnel on the CPU";
    static const struct refusal refusals[] = {
        {K "{\n  asm volatile(\"syscall\");\n}", "k.cu:2:", sentence},
        {K "{\n  __asm__(\"nop\");\n}", "k.cu:2:", sentence},
        {K "{\n  asm(\"\" \"nop # %0\" : \"+r\"(o[0]));\n}", "k.cu:2:",
         sentence},
        {K "{\n  a\\\nsm volatile(\"syscall\");\n}", "k.cu:", sentence},
        {K "{\n  __as\\ \nm__(\"syscall\");\n}", "k.cu:", sentence},
        {"\nasm(\".globl x\\nx: ret\");\n" K "{}", "k.cu:2:", sentence},
        {"#define A(x) as##x\n" K "{\n  A(m)(\"nop\");\n}", "k.cu:3:",
         sentence},
    };
    REFUSE(refusals);
    built_write(&built, "source",
                "static __device__ int lane()\n"
                "{ int x; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x)); "
                "return x; }\n"
                K "{ asm volatile(\"\" ::: \"memory\"); o[0] = 1; }");
    is_taken("--source @/source --option -w --option --tier=F");
    built_close(&built);
}

RNL_TEST(code_that_a_loader_would_run)
{
    static const char sentence[] = "dynamic initialization is not supported";
    static const struct refusal refusals[] = {
        {"__attribute__((constructor)) static __device__ void f()\n"
         "{ __builtin_trap(); }\n" K "{}", "k.cu:", sentence},
        {"__attribute__((destructor)) static __device__ void f()\n"
         "{ __builtin_trap(); }\n" K "{}", "k.cu:", sentence},
        {"static __device__ void (*__attribute__((used, "
         "section(\".preinit_array\"))) f)() = 0;\n" K "{}", "k.cu:",
         sentence},
    };
    REFUSE(refusals);
    built_write(&built, "source",
                "extern \"C\" __device__ void _init() { __builtin_trap(); }\n"
                K "{ if (o[0]) _init(); }");
    is_taken("--source @/source");
    built_close(&built);
}
