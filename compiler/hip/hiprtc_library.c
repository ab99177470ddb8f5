// hiprtc, and the library by which it compiles. hiprtc crashes where that
// library is missing, and up to 6.4 for an architecture that it does not know;
// LLVM ends the process for some sources. So this is a process of its own.
#include "hip/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// hiprtc's statuses.
enum {
    HIPRTC_OUT_OF_MEMORY = 1,
    HIPRTC_INVALID_INPUT = 3,
    HIPRTC_INVALID_OPTION = 5,
    HIPRTC_COMPILATION = 6,
    HIPRTC_NAME_NOT_VALID = 10,
};

struct hiprtc {
#define SYMBOL(name, vendor, type, parameters) type(*name) parameters;
#include "hiprtc_table.h"
#undef SYMBOL
};

struct comgr {
    int (*isa_count)(size_t *out_count);
    int (*isa_name)(size_t index, const char **out_name);
};

struct hiprtc_compilation {
    const struct hip_job *job;
    struct hiprtc hiprtc;
    struct comgr comgr;
    void *program;
};

// --- Loading -----------------------------------------------------------------

static bool find(void *library, const char *name, void *out_function)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(out_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

// The first function that is missing, or NULL.
static const char *find_functions(void *library, struct hiprtc *hiprtc)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
#define SYMBOL(name, vendor, type, parameters) \
    {#vendor, offsetof(struct hiprtc, name)},
#include "hiprtc_table.h"
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!find(library, symbols[i].name, (char *)hiprtc + symbols[i].offset))
            return symbols[i].name;
    return NULL;
}

static bool find_comgr(void *library, struct comgr *comgr)
{
    return find(library, "amd_comgr_get_isa_count", &comgr->isa_count) &&
           find(library, "amd_comgr_get_isa_name", &comgr->isa_name);
}

// The version of comgr that hiprtc loads depends on the version of hiprtc.
static bool open_comgr(struct hiprtc_compilation *self)
{
    const char *const names[] = {self->job->comgr, "libamd_comgr.so.3",
                                 "libamd_comgr.so.2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && find_comgr(library, &self->comgr))
            return true;
    }
    return false;
}

static int load(struct hiprtc_compilation *self)
{
    const struct hip_job *job = self->job;
    void *library = dlopen(job->library, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return report(CC_LIBRARY, "hiprtc does not load: %s", dlerror());
    const char *missing = find_functions(library, &self->hiprtc);
    if (missing)
        return report(CC_LIBRARY, "hiprtc has no %s", missing);
    // Some versions of hiprtc are linked with comgr; other versions load comgr
    // at the first compilation.
    if (!find_comgr(library, &self->comgr) &&
        !open_comgr(self))
        return report(CC_LIBRARY,
                      "hiprtc needs libamd_comgr, of which neither %s nor "
                      "libamd_comgr.so.3 and .so.2 were found", job->comgr);
    return CC_OK;
}

// "amdgcn-amd-amdhsa--gfx90a" for "gfx90a:sramecc+:xnack-".
static bool is_isa(const char *isa, const char *arch)
{
    const char *last = strrchr(isa, '-');
    size_t length = strcspn(arch, ":");
    return last && strncmp(last + 1, arch, length) == 0 &&
           last[1 + length] == '\0';
}

static int check_arch(const struct hiprtc_compilation *self)
{
    size_t count = 0;
    const char *isa = NULL;
    self->comgr.isa_count(&count);
    for (size_t i = 0; i < count; i++)
        if (self->comgr.isa_name(i, &isa) == 0 && isa &&
            is_isa(isa, self->job->arch))
            return CC_OK;
    return report(CC_LIBRARY, "this version of hiprtc does not compile for %s",
                  self->job->arch);
}

// --- Compiling ---------------------------------------------------------------

static int exit_code_of(const struct hiprtc_compilation *self, int status)
{
    switch (status) {
    case 0:
        return CC_OK;
    case HIPRTC_INVALID_INPUT:
    case HIPRTC_COMPILATION:
    case HIPRTC_NAME_NOT_VALID:
        return CC_NOT_COMPILED;
    case HIPRTC_INVALID_OPTION:
        return CC_OPTION;
    case HIPRTC_OUT_OF_MEMORY:
    default:
        return report(CC_CRASHED, "hiprtc failed: %s",
                      self->hiprtc.error_text(status));
    }
}

// Says why, for hiprtc wrote no log.
static int refuse(const struct hiprtc_compilation *self, int status)
{
    int result = exit_code_of(self, status);
    return result == CC_NOT_COMPILED || result == CC_OPTION
               ? report(result, "hiprtc gives no other reason than: %s",
                        self->hiprtc.error_text(status))
               : result;
}

static int create(struct hiprtc_compilation *self,
                  const struct hip_source *source)
{
    const struct hiprtc *hiprtc = &self->hiprtc;
    const struct list *names = &self->job->expressions;
    int status = hiprtc->create(&self->program, source->text.data, "kernel.cu",
                                (int)source->names.count,
                                (const char *const *)source->texts.items,
                                (const char *const *)source->names.items);
    for (size_t i = 0; status == 0 && i < names->count; i++)
        status = hiprtc->add_expression(self->program, names->items[i]);
    return refuse(self, status);
}

// False if there is none.
static bool print_log(const struct hiprtc_compilation *self)
{
    size_t size = 0;
    if (self->hiprtc.log_size(self->program, &size) != 0 || size == 0)
        return false;
    char *log = calloc(1, size + 1);
    bool told = log && self->hiprtc.log(self->program, log) == 0 && *log;
    if (told)
        fputs(log, stderr);
    free(log);
    return told;
}

static int write_code(const struct hiprtc_compilation *self)
{
    size_t size = 0;
    int status = self->hiprtc.code_size(self->program, &size);
    char *code = malloc(size + 1);
    if (status == 0 && code)
        status = self->hiprtc.code(self->program, code);
    int result = !code ? CC_CRASHED : exit_code_of(self, status);
    if (result == CC_OK && !text_write_file(self->job->output, code, size))
        result = report_file("write", self->job->output);
    free(code);
    return result;
}

// Writes the symbol of each name expression on a line of its own.
static int write_names(const struct hiprtc_compilation *self)
{
    const struct list *names = &self->job->expressions;
    struct text text = {0};
    int result = CC_OK;
    text_add(&text, "");
    for (size_t i = 0; result == CC_OK && i < names->count; i++) {
        const char *symbol = NULL;
        result = refuse(
            self,
            self->hiprtc.lowered_name(self->program, names->items[i], &symbol));
        if (result == CC_OK)
            text_format(&text, "%s\n", symbol);
    }
    if (result == CC_OK &&
        !text_write_file(self->job->names, text.data, text.size))
        result = report_file("write", self->job->names);
    text_free(&text);
    return result;
}

int hip_compile(const struct hip_job *job, const struct hip_source *source,
                const struct list *options)
{
    struct hiprtc_compilation self = {.job = job};
    int result = load(&self);
    if (result == CC_OK)
        result = check_arch(&self);
    if (result == CC_OK)
        result = create(&self, source);
    if (result != CC_OK)
        return result;
    int status = self.hiprtc.compile(self.program, (int)options->count,
                                     (const char *const *)options->items);
    result = print_log(&self) ? exit_code_of(&self, status)
                              : refuse(&self, status);
    if (result == CC_OK)
        result = write_code(&self);
    if (result == CC_OK)
        result = write_names(&self);
    self.hiprtc.destroy(&self.program);
    return result;
}
