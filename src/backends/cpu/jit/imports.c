// The imports of an object, read as the loader reads them: through the dynamic
// section, not the section table, which may be wrong.
#include "backends/cpu/jit/imports.h"

#include "compiler/import_table.h"

#include <elf.h>
#include <string.h>

#if UINTPTR_MAX == UINT64_MAX

#if defined(__x86_64__)
#define RELOCATION_CALLS R_X86_64_IRELATIVE
#elif defined(__aarch64__)
#define RELOCATION_CALLS R_AARCH64_IRELATIVE
#else
#define RELOCATION_CALLS UINT32_MAX
#endif

struct view {
    const char *elf;
    size_t size;
    Elf64_Ehdr header;
    uint64_t strings, strings_size, symbols;  // addresses and bytes
};

// `size` bytes that lie at an address once the object is loaded. False if the
// file has none there.
static bool read_at(const struct view *view, uint64_t address, void *out,
                    uint64_t size)
{
    for (size_t i = 0; i < view->header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment,
               view->elf + view->header.e_phoff + i * sizeof segment,
               sizeof segment);
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
            address - segment.p_vaddr > segment.p_filesz ||
            size > segment.p_filesz - (address - segment.p_vaddr))
            continue;
        memcpy(out, view->elf + segment.p_offset + address - segment.p_vaddr,
               size);
        return true;
    }
    return false;
}

// A name in the object, cut to the room in the buffer. Damaged names are read
// up to the damage.
static const char *name_at(const struct view *view, uint64_t offset,
                           char name[IMPORT_NAME_SIZE])
{
    size_t i = 0;
    while (i + 1 < IMPORT_NAME_SIZE && offset + i < view->strings_size &&
           read_at(view, view->strings + offset + i, &name[i], 1) && name[i])
        i++;
    name[i] = 0;
    return name;
}

static const char *const runs_code = "it runs code when it is loaded";

static const char *relocation_fault(const struct view *view, uint64_t info,
                                    char name[IMPORT_NAME_SIZE])
{
    Elf64_Sym symbol;
    uint64_t index = ELF64_R_SYM(info);
    if (ELF64_R_TYPE(info) == RELOCATION_CALLS)
        return runs_code;
    if (index == 0)
        return NULL;
    if (!read_at(view, view->symbols + index * sizeof symbol, &symbol,
                 sizeof symbol))
        return "a symbol of it is missing";
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
        return runs_code;
    if (symbol.st_shndx != SHN_UNDEF ||
        import_is_allowed(name_at(view, symbol.st_name, name)))
        return NULL;
    return "it uses a symbol that the host does not give to kernels";
}

static const char *relocations_fault(const struct view *view, uint64_t at,
                                     uint64_t size,
                                     char name[IMPORT_NAME_SIZE])
{
    const char *fault = NULL;
    Elf64_Rela entry;
    for (uint64_t i = 0; !fault && i < size / sizeof entry; i++) {
        if (!read_at(view, at + i * sizeof entry, &entry, sizeof entry))
            return "a relocation of it is missing";
        fault = relocation_fault(view, entry.r_info, name);
    }
    return fault;
}

static bool is_library_of_c(const char *name)
{
    static const char *const starts[] = {"libc.", "libm.", "libmvec.",
                                         "ld-linux", "ld-musl", "ld64."};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return !strchr(name, '/');
    return false;
}

static const char *entry_fault(const struct view *view, const Elf64_Dyn *entry,
                               char name[IMPORT_NAME_SIZE])
{
    switch (entry->d_tag) {
    case DT_INIT:
    case DT_FINI:
        return runs_code;
#if defined(__x86_64__)  // elsewhere libgcc asks for the processor's features
    case DT_INIT_ARRAYSZ:
    case DT_FINI_ARRAYSZ:
    case DT_PREINIT_ARRAYSZ:
        return entry->d_un.d_val ? runs_code : NULL;
#endif
    case DT_RPATH:
    case DT_RUNPATH:
    case DT_AUDIT:
    case DT_DEPAUDIT:
    case DT_AUXILIARY:
    case DT_FILTER:
        name_at(view, entry->d_un.d_val, name);
        return "it has the loader look elsewhere";
    case DT_NEEDED:
        return is_library_of_c(name_at(view, entry->d_un.d_val, name))
                   ? NULL : "it needs another library than C's";
    case DT_REL:
        return "it has relocations of another kind";
    default:
        return NULL;
    }
}

// The entry of that number; DT_NULL at the end.
static Elf64_Dyn entry_at(const struct view *view, uint64_t start,
                          uint64_t size, uint64_t i)
{
    Elf64_Dyn entry = {.d_tag = DT_NULL};
    if (i < size / sizeof entry)
        memcpy(&entry, view->elf + start + i * sizeof entry, sizeof entry);
    return entry;
}

static const char *dynamic_fault(struct view *view, uint64_t start,
                                 uint64_t size, char name[IMPORT_NAME_SIZE])
{
    uint64_t tables[2] = {0}, sizes[2] = {0};  // DT_RELA and DT_JMPREL
    Elf64_Dyn entry;
    for (uint64_t i = 0; (entry = entry_at(view, start, size, i)).d_tag; i++)
        switch (entry.d_tag) {
        case DT_STRTAB: view->strings = entry.d_un.d_ptr; break;
        case DT_STRSZ: view->strings_size = entry.d_un.d_val; break;
        case DT_SYMTAB: view->symbols = entry.d_un.d_ptr; break;
        case DT_RELA: tables[0] = entry.d_un.d_ptr; break;
        case DT_RELASZ: sizes[0] = entry.d_un.d_val; break;
        case DT_JMPREL: tables[1] = entry.d_un.d_ptr; break;
        case DT_PLTRELSZ: sizes[1] = entry.d_un.d_val; break;
        default: break;
        }
    const char *fault = NULL;
    for (uint64_t i = 0;
         !fault && (entry = entry_at(view, start, size, i)).d_tag; i++)
        fault = entry_fault(view, &entry, name);
    for (int i = 0; !fault && i < 2; i++)
        fault = relocations_fault(view, tables[i], sizes[i], name);
    return fault;
}

const char *imports_fault(const void *elf, size_t size,
                          char name[IMPORT_NAME_SIZE])
{
    struct view view = {.elf = elf, .size = size};
    const char *fault = NULL;
    name[0] = 0;
    memcpy(&view.header, elf, sizeof view.header);
    for (size_t i = 0; !fault && i < view.header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, view.elf + view.header.e_phoff + i * sizeof segment,
               sizeof segment);
        if (segment.p_type == PT_DYNAMIC)
            fault = dynamic_fault(&view, segment.p_offset, segment.p_filesz,
                                  name);
    }
    return fault;
}

#else

const char *imports_fault(const void *elf, size_t size,
                          char name[IMPORT_NAME_SIZE])
{
    (void)elf;
    (void)size;
    name[0] = 0;
    return NULL;
}

#endif
