#include "cc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What #if in kernel source may ask for. The architecture is the least that has
// everything the prelude offers.
static const char *const predefined[] = {
    "-D__CUDACC__=1",       "-D__CUDACC_RTC__=1",      "-D__CUDA_ARCH__=800",
    "-D__NVCC__=1",         "-D__CUDACC_VER_MAJOR__=12",
    "-D__CUDACC_VER_MINOR__=0", "-D__RUNNEL__=1",      "-D__RUNNEL_CPU__=1",
};

static const char *const always[] = {
    "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
    "-fno-threadsafe-statics", "-fno-math-errno", "-fno-trapping-math",
    "-fno-strict-aliasing", "-fsigned-char", "-ffunction-sections",
    "-fdata-sections", "-fcheck-new", "-nostdinc", "-nostdinc++",
    "-fmessage-length=0", "-fdiagnostics-color=never", "-Wno-unknown-pragmas",
#if defined(__x86_64__)
    // A frame larger than a page must not step over the guard below the stack.
    "-fstack-clash-protection",
#endif
};

struct state {
    struct flags *flags;
    char folder[4096];    // where runnel-cc was started
    const char *standard;
    bool contract;
    bool fast;
    bool line_info;
    bool debug;
};

static void add_folder(struct state *state, const char *folder)
{
    if (folder[0] == '/')
        list_format(&state->flags->arguments, "-I%s", folder);
    else
        list_format(&state->flags->arguments, "-I%s/%s", state->folder,
                    folder);
}

// The value of an option: `option` after its name and '=', or the next one.
// NULL when `option` is another one or the value is missing.
static const char *value_of(const char *option, const char *name,
                            const struct list *options, size_t *i)
{
    size_t size = strlen(name);
    if (strncmp(option, name, size) != 0)
        return NULL;
    if (option[size] == '=')
        return option + size + 1;
    if (option[size] == 0 && *i + 1 < options->count)
        return options->items[++*i];
    // Short ones take their value without a space: -DX, -Ifolder.
    return size == 2 && option[size] ? option + size : NULL;
}

// "X=1" or "X", as a directive.
static void add_define(struct flags *flags, const char *value)
{
    int size = (int)strcspn(value, "=");
    text_format(&flags->defines, "#define %.*s %s\n", size, value,
                value[size] ? value + size + 1 : "1");
}

static bool is_false(const char *value)
{
    return value && strcmp(value, "false") == 0;
}

static const char *standard_of(const char *asked)
{
    static const char *const newer[][2] = {
        {"c++20", "-std=c++20"}, {"c++23", "-std=c++2b"},
        {"gnu++20", "-std=gnu++20"}};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (strcmp(asked, newer[i][0]) == 0)
            return newer[i][1];
    return "-std=c++17";  // the prelude needs it
}

// Options with a value that is of use here. True if it was one of them.
static bool take_valued(struct state *state, const struct list *options,
                        size_t *i)
{
    const char *option = options->items[*i];
    struct flags *flags = state->flags;
    static const char *const defines[] = {"--define-macro", "-D"};
    static const char *const undefines[] = {"--undefine-macro", "-U"};
    static const char *const folders[] = {"--include-path", "-I"};
    static const char *const includes[] = {"--pre-include", "-include"};
    const char *value;
    for (int form = 0; form < 2; form++) {
        if ((value = value_of(option, defines[form], options, i)))
            return add_define(flags, value), true;
        if ((value = value_of(option, undefines[form], options, i)))
            return text_format(&flags->defines, "#undef %s\n", value), true;
        if ((value = value_of(option, folders[form], options, i)))
            return add_folder(state, value), true;
        if ((value = value_of(option, includes[form], options, i)))
            return list_add(&flags->includes, value), true;
    }
    if ((value = value_of(option, "--std", options, i)) ||
        (value = value_of(option, "-std", options, i)))
        return state->standard = standard_of(value), true;
    if ((value = value_of(option, "--fmad", options, i)) ||
        (value = value_of(option, "-fmad", options, i)))
        return state->contract = !is_false(value), true;
    if ((value = value_of(option, "--tier", options, i)))
        return snprintf(flags->tier, sizeof flags->tier, "%s", value), true;
    if ((value = value_of(option, "--block-size", options, i)))
        return flags->block_size = value, true;
    if ((value = value_of(option, "--only-kernel", options, i)))
        return flags->only = value, true;
    return false;
}

// Options of CUDA that mean nothing here but whose value must be passed over
// when it stands alone.
static bool is_ignored(const char *option, const struct list *options,
                       size_t *i)
{
    static const char *const names[] = {
        "--gpu-architecture", "-arch", "--maxrregcount", "-maxrregcount",
        "--ptxas-options", "-Xptxas", "--gpu-code", "-code", "--minimal",
        "--optimization-info", "-opt-info", "--split-compile"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (value_of(option, names[n], options, i))
            return true;
    return false;
}

static void take_flag(struct state *state, const char *option)
{
    struct list *arguments = &state->flags->arguments;
    if (!strcmp(option, "--use_fast_math") || !strcmp(option, "-use_fast_math"))
        state->fast = true;
    else if (!strcmp(option, "-G") || !strcmp(option, "--device-debug") ||
             !strcmp(option, "-g"))
        state->debug = true;
    else if (!strcmp(option, "-lineinfo") ||
             !strcmp(option, "--generate-line-info") ||
             !strcmp(option, "--lineinfo"))
        state->line_info = true;
    else if (!strcmp(option, "-w") || !strcmp(option, "--disable-warnings"))
        list_add(arguments, "-w");
    else if (!strncmp(option, "-W", 2) || !strncmp(option, "-f", 2))
        list_add(arguments, option);
}

static void add_code_generation(struct state *state, bool clang)
{
    struct list *arguments = &state->flags->arguments;
    state->flags->debug = state->debug;
    list_add(arguments, state->debug ? "-O0" : "-O2");
    if (state->debug)
        list_add(arguments, "-g");
    else if (state->line_info)
        list_add(arguments, "-g1");
    list_add(arguments,
             state->contract ? "-ffp-contract=fast" : "-ffp-contract=off");
    if (state->fast)
        list_add(arguments, "-freciprocal-math");
    // clang's loop vectoriser miscompiles masked induction variables such as
    // s[(i * 3) & 127] (llvm-project issue 156849; seen in 14, 16 and 19).
    if (clang)
        list_add(arguments, "-fno-vectorize");
    // `#pragma unroll` asks; it does not insist.
    if (clang)
        list_add(arguments, "-Wno-pass-failed");
    else
        list_add(arguments, "-pipe");
    list_format(arguments, "-march=%s", compiler_target());
}

bool flags_block_size(const struct flags *flags, unsigned size[3])
{
    enum { THREADS_MOST = 1024 };
    unsigned read[3] = {1, 1, 1};
    const char *text = flags->block_size;
    for (unsigned i = 0; text && i < 3; i++) {
        char *end;
        unsigned long number = strtoul(text, &end, 10);
        if (text[0] < '1' || text[0] > '9' || number > THREADS_MOST)
            return false;
        read[i] = (unsigned)number;
        text = *end == 'x' && i < 2 ? end + 1 : NULL;
        if (!text && *end)
            return false;
        if (!text)
            memcpy(size, read, sizeof read);
    }
    return read[0] * read[1] * read[2] <= THREADS_MOST;
}

void flags_make(const struct cc_options *options, bool clang,
                struct flags *flags)
{
    struct state state = {.flags = flags, .standard = "-std=c++17",
                          .contract = true, .debug = options->debug};
    if (!getcwd(state.folder, sizeof state.folder))
        snprintf(state.folder, sizeof state.folder, ".");
    strcpy(flags->tier, "auto");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        list_add(&flags->arguments, always[i]);
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        list_add(&flags->arguments, predefined[i]);
    list_add(&flags->arguments, "-I" CC_PARTS_FOLDER);
    list_add(&flags->arguments, "-I" CC_HEADER_FOLDER);
    for (size_t i = 0; i < options->options.count; i++) {
        const char *option = options->options.items[i];
        if (!take_valued(&state, &options->options, &i) &&
            !is_ignored(option, &options->options, &i))
            take_flag(&state, option);
    }
    text_add(&flags->defines, "#ifdef NDEBUG\n#undef assert\n"
                              "#define assert(...) ((void)0)\n#endif\n");
    list_add(&flags->arguments, state.standard);
    list_add(&flags->arguments, "-idirafter");
    list_add(&flags->arguments, CC_STUB_FOLDER);
    add_code_generation(&state, clang);
}
