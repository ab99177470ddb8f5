// The options that kernels may be compiled with: an allow list. runnel-cc and
// the library read the same table, so no way leads around it.
//
// The rows are NVRTC's options, as the documentation of NVRTC 13.0 lists them,
// and Runnel's own. An option that is not here is refused by its name: many
// options of C++ compilers load code, run programs or write files.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum option_takes {
    TAKES_NOTHING,
    TAKES_VALUE,    // --name=VALUE, or the next word
    TAKES_SWITCH,   // --name=true or false; alone it means true
    TAKES_WARNING,  // the name of a warning, right behind
};

enum option_owner {
    OF_NVRTC,   // every backend takes it
    OF_OUTPUT,  // NVRTC's, but asks for what no module can be loaded from
    OF_CPU,     // Runnel's own, for cpu contexts
};

// X(name, other spelling or NULL, kind of value, owner, handler of runnel-cc)
#define OPTION_TABLE(X) \
    X("--tier", NULL, TAKES_VALUE, OF_CPU, set_tier) \
    X("--target", NULL, TAKES_VALUE, OF_CPU, set_target) \
    X("--report-tiers", NULL, TAKES_NOTHING, OF_CPU, set_report) \
    X("--report-includes", NULL, TAKES_NOTHING, OF_CPU, set_report_includes) \
    X("--block-size", NULL, TAKES_VALUE, OF_CPU, set_block_size) \
    X("--only-kernel", NULL, TAKES_VALUE, OF_CPU, set_only) \
    X("-g", NULL, TAKES_NOTHING, OF_CPU, set_debug) \
    X("--lineinfo", NULL, TAKES_NOTHING, OF_CPU, set_line_info) \
    X("-fassociative-math", NULL, TAKES_NOTHING, OF_CPU, pass_on) \
    X("-fno-signed-zeros", NULL, TAKES_NOTHING, OF_CPU, pass_on) \
    X("-W", NULL, TAKES_WARNING, OF_CPU, pass_on) \
    /* The preprocessor and the language. */ \
    X("--define-macro", "-D", TAKES_VALUE, OF_NVRTC, set_define) \
    X("--undefine-macro", "-U", TAKES_VALUE, OF_NVRTC, set_undefine) \
    X("--include-path", "-I", TAKES_VALUE, OF_NVRTC, set_folder) \
    X("--pre-include", "-include", TAKES_VALUE, OF_NVRTC, set_include) \
    X("--std", "-std", TAKES_VALUE, OF_NVRTC, set_standard) \
    X("--disable-warnings", "-w", TAKES_NOTHING, OF_NVRTC, set_no_warnings) \
    /* Arithmetic. Square roots are exact at no cost. */ \
    X("--use_fast_math", "-use_fast_math", TAKES_NOTHING, OF_NVRTC, set_fast) \
    X("--ftz", "-ftz", TAKES_SWITCH, OF_NVRTC, set_flush) \
    X("--fmad", "-fmad", TAKES_SWITCH, OF_NVRTC, set_contract) \
    X("--prec-div", "-prec-div", TAKES_SWITCH, OF_NVRTC, set_division) \
    X("--prec-sqrt", "-prec-sqrt", TAKES_SWITCH, OF_NVRTC, ignore) \
    /* Debugging. */ \
    X("--device-debug", "-G", TAKES_NOTHING, OF_NVRTC, set_debug) \
    X("--generate-line-info", "-lineinfo", TAKES_NOTHING, OF_NVRTC, \
      set_line_info) \
    /* Ignored on a CPU: true there anyway, or nothing that can be seen. */ \
    X("--gpu-architecture", "-arch", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--gpu-code", "-code", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--device-as-default-execution-space", "-default-device", \
      TAKES_NOTHING, OF_NVRTC, set_default_device) \
    X("--device-int128", "-device-int128", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--builtin-initializer-list", "-builtin-initializer-list", \
      TAKES_SWITCH, OF_NVRTC, set_lists) \
    X("--device-float128", "-device-float128", TAKES_NOTHING, OF_NVRTC, \
      ignore) \
    X("--relocatable-device-code", "-rdc", TAKES_SWITCH, OF_NVRTC, ignore) \
    X("--device-c", "-dc", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--device-w", "-dw", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--extensible-whole-program", "-ewp", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--extra-device-vectorization", "-extra-device-vectorization", \
      TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--restrict", "-restrict", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--dopt", "-dopt", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--Ofast-compile", "-Ofc", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--split-compile", "-split-compile", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--minimal", "-minimal", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--no-cache", "-no-cache", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--frandom-seed", "-frandom-seed", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--no-source-include", "-no-source-include", TAKES_NOTHING, OF_NVRTC, \
      ignore) \
    X("--modify-stack-limit", "-modify-stack-limit", TAKES_SWITCH, OF_NVRTC, \
      ignore) \
    X("--builtin-move-forward", "-builtin-move-forward", TAKES_SWITCH, \
      OF_NVRTC, ignore) \
    X("--pch", "-pch", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--create-pch", "-create-pch", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--use-pch", "-use-pch", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--pch-dir", "-pch-dir", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--pch-verbose", "-pch-verbose", TAKES_SWITCH, OF_NVRTC, ignore) \
    X("--pch-messages", "-pch-messages", TAKES_SWITCH, OF_NVRTC, ignore) \
    X("--instantiate-templates-in-pch", "-instantiate-templates-in-pch", \
      TAKES_SWITCH, OF_NVRTC, ignore) \
    X("--optimization-info", "-opt-info", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--display-error-number", "-err-no", TAKES_NOTHING, OF_NVRTC, ignore) \
    X("--no-display-error-number", "-no-err-no", TAKES_NOTHING, OF_NVRTC, \
      ignore) \
    X("--diag-error", "-diag-error", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--diag-suppress", "-diag-suppress", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--diag-warn", "-diag-warn", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--brief-diagnostics", "-brief-diag", TAKES_SWITCH, OF_NVRTC, ignore) \
    X("--time", "-time", TAKES_VALUE, OF_NVRTC, ignore) \
    X("--fdevice-time-trace", "-fdevice-time-trace", TAKES_VALUE, OF_NVRTC, \
      ignore) \
    X("--version-ident", "-dQ", TAKES_SWITCH, OF_NVRTC, ignore) \
    /* Options for features that a CPU does not have. */ \
    X("--maxrregcount", "-maxrregcount", TAKES_VALUE, OF_NVRTC, note) \
    X("--ptxas-options", "-Xptxas", TAKES_VALUE, OF_NVRTC, note) \
    X("--jump-table-density", "-jtd", TAKES_VALUE, OF_NVRTC, note) \
    X("--device-stack-protector", "-device-stack-protector", TAKES_SWITCH, \
      OF_NVRTC, note) \
    /* Forms of output that cannot be loaded. */ \
    X("--dlink-time-opt", "-dlto", TAKES_NOTHING, OF_OUTPUT, refuse_form) \
    X("--gen-opt-lto", "-gen-opt-lto", TAKES_NOTHING, OF_OUTPUT, refuse_form) \
    X("--optix-ir", "-optix-ir", TAKES_NOTHING, OF_OUTPUT, refuse_form) \
    X("--fdevice-syntax-only", "-fdevice-syntax-only", TAKES_NOTHING, \
      OF_OUTPUT, refuse_form)

struct option_rule {
    const char *name, *other;
    enum option_takes takes;
    enum option_owner owner;
};

static const struct option_rule option_rules[] = {
#define OPTION_RULE(name, other, takes, owner, act) {name, other, takes, owner},
    OPTION_TABLE(OPTION_RULE)
#undef OPTION_RULE
};

// Advice for unknown options that users often try, by their beginnings; the
// last row is for all others.
static const struct option_advice {
    const char *start, *advice;
} option_advices[] = {
    {"-Ofast", "--use_fast_math allows inexact arithmetic"},
    {"-O", "kernels are optimised unless -G is given; leave it out"},
    {"-ffast-math", "--use_fast_math allows inexact arithmetic"},
    {"-funsafe-math", "--use_fast_math allows inexact arithmetic"},
    {"-march", "--target=NAME chooses the processor"},
    {"-mcpu", "--target=NAME chooses the processor"},
    {"-mtune", "--target=NAME chooses the processor"},
    {"-isystem", "-I names a folder of headers"},
    {"-iquote", "-I names a folder of headers"},
    {"-idirafter", "-I names a folder of headers"},
    {"--system-include", "-I names a folder of headers"},
    {"@", "options are given one by one, not in a file"},
    {"-fplugin", "a compiler of kernels loads no code; leave it out"},
    {"-fpass-plugin", "a compiler of kernels loads no code; leave it out"},
    {"-Xclang", "give the compiler's own options by NVRTC's names; leave it "
                "out"},
    {"-Xcompiler", "give the compiler's own options by NVRTC's names; leave it "
                   "out"},
    {"-Wl,", "a kernel is linked with nothing; leave it out"},
    {"-l", "a kernel is linked with nothing; leave it out"},
    {"-L", "a kernel is linked with nothing; leave it out"},
    {"", "NVRTC's options are taken, and those that compiler/README.md lists; "
         "leave it out"},
};

static inline const char *option_advice(const char *option)
{
    const struct option_advice *row = option_advices;
    while (strncmp(option, row->start, strlen(row->start)) != 0)
        row++;
    return row->advice;
}

// The text behind the name if a word is that option, or NULL.
static inline const char *option_behind(const struct option_rule *rule,
                                        const char *name, const char *option)
{
    size_t size = name ? strlen(name) : 0;
    if (!name || strncmp(option, name, size) != 0)
        return NULL;
    const char *rest = option + size;
    // "-Wl,…" would be the linker's, and "-Wa,…" the assembler's.
    if (rule->takes == TAKES_WARNING)
        return rest[0] && !rest[strspn(rest, "abcdefghijklmnopqrstuvwxyz"
                                             "0123456789-+=")] ? rest : NULL;
    // Short ones take their value without an equal sign: -DX, -Ifolder.
    bool joined = rule->takes == TAKES_VALUE && size == 2;
    return joined || rest[0] == 0 || rest[0] == '=' ? rest : NULL;
}

// The row of an option and the text behind its name; NULL if unknown.
static inline const struct option_rule *option_find(const char *option,
                                                    const char **rest)
{
    for (size_t i = 0; i < sizeof option_rules / sizeof *option_rules; i++) {
        const struct option_rule *rule = &option_rules[i];
        if ((*rest = option_behind(rule, rule->name, option)) ||
            (*rest = option_behind(rule, rule->other, option)))
            return rule;
    }
    return NULL;
}

// Whether the word behind it is its value.
static inline bool option_takes_next(const struct option_rule *rule,
                                     const char *rest, const char *next)
{
    if (rest[0] || !next)
        return false;
    return rule->takes == TAKES_VALUE ||
           (rule->takes == TAKES_SWITCH && (strcmp(next, "true") == 0 ||
                                            strcmp(next, "false") == 0));
}
