// Hides symbols from dlsym, and the program's settings from the library inside.
#include "fake.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool fake_hides(const char *exported);

// --- Symbols --------------------------------------------------------------

struct tables {
    ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *hash;
};

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

// The loader has made addresses of what is in the dynamic section, but for
// libraries that say otherwise.
static const void *address_of(const ElfW(Dyn) *entry)
{
    uintptr_t base = (uintptr_t)&__ehdr_start;
    uintptr_t value = entry->d_un.d_ptr;
    return (const void *)(value < base ? base + value : value);
}

static struct tables tables_find(void)
{
    struct tables tables = {0};
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            tables.symbols = (ElfW(Sym) *)(uintptr_t)address_of(entry);
        else if (entry->d_tag == DT_STRTAB)
            tables.strings = address_of(entry);
        else if (entry->d_tag == DT_HASH)
            tables.hash = address_of(entry);
    }
    return tables;
}

// A symbol without a value is none for the loader. Nothing may be hidden from
// the fake itself: it never looks its functions up.
__attribute__((constructor)) static void hide(void)
{
    struct tables tables = tables_find();
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint32_t count = tables.hash[1];
    uintptr_t start = (uintptr_t)tables.symbols & ~(page - 1);
    uintptr_t end = (uintptr_t)(tables.symbols + count);
    if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE))
        return;
    for (uint32_t i = 0; i < count; i++) {
        ElfW(Sym) *symbol = &tables.symbols[i];
        const char *name = tables.strings + symbol->st_name;
        if (symbol->st_shndx != SHN_UNDEF &&
            (!strncmp(name, "cu", 2) || !strncmp(name, "nvrtc", 5) ||
             !strncmp(name, "hip", 3) || !strncmp(name, "amd_comgr", 9)) &&
            fake_hides(name))
            symbol->st_value = 0;
    }
    mprotect((void *)start, end - start, PROT_READ);
}

// --- Settings -------------------------------------------------------------

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);

static char *other(const char *name, char *otherwise)
{
    char *value = __real_getenv(name);
    return value ? value : otherwise;
}

// What the program says is for the library under test. The one inside has
// cpu devices and nothing else.
char *__wrap_getenv(const char *name)
{
    static char off[] = "off", few[] = "2", most[] = "8";
    if (strncmp(name, "RUNNEL_", 7) != 0 || !strncmp(name, "RUNNEL_FAKE_", 12))
        return __real_getenv(name);
    if (!strcmp(name, "RUNNEL_CC"))
        return __real_getenv(name);
    if (!strcmp(name, "RUNNEL_CACHE_DIR"))
        return other("RUNNEL_FAKE_CACHE_DIR", __real_getenv(name));
    if (!strcmp(name, "RUNNEL_THREADS"))
        return other("RUNNEL_FAKE_THREADS", few);
    if (!strcmp(name, "RUNNEL_LOG"))
        return __real_getenv("RUNNEL_FAKE_LOG");
    if (!strcmp(name, "RUNNEL_CPU_DEVICES"))
        return most;
    if (!strcmp(name, "RUNNEL_CUDA") || !strcmp(name, "RUNNEL_NVRTC") ||
        !strcmp(name, "RUNNEL_HIP") || !strcmp(name, "RUNNEL_HIPRTC"))
        return off;
    return NULL;
}
