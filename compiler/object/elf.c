// Reads what the compiler made, through the 64-bit ELF of this machine.

#include "object/object.h"

#include <runnel/cpu_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Views of a file -------------------------------------------------------

bool elf_in_file(const struct elf_view *view, uint64_t offset, uint64_t size)
{
    return offset <= view->size && size <= view->size - offset;
}

// Tables are read in place.
static bool is_table(const Elf64_Shdr *section, size_t record)
{
    return section->sh_type != SHT_NOBITS &&
           section->sh_offset % _Alignof(Elf64_Xword) == 0 &&
           section->sh_size % record == 0;
}

// Whether the section at `index` holds strings, each of which ends.
static bool has_strings(const struct elf_view *view, size_t index)
{
    if (index >= view->section_count)
        return false;
    const Elf64_Shdr *section = &view->sections[index];
    return section->sh_type == SHT_STRTAB && section->sh_size > 0 &&
           view->data[section->sh_offset + section->sh_size - 1] == 0;
}

// Takes a section whose bytes are in the file. False if it cannot be.
static bool take_section(struct elf_view *view, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_RELA)
        return is_table(section, sizeof(Elf64_Rela));
    if (section->sh_type == SHT_DYNAMIC)
        return is_table(section, sizeof(Elf64_Dyn));
    if (section->sh_type != SHT_SYMTAB)
        return true;
    if (!is_table(section, sizeof(Elf64_Sym)) ||
        !has_strings(view, section->sh_link))
        return false;
    const Elf64_Shdr *strings = &view->sections[section->sh_link];
    view->symbols = (const Elf64_Sym *)(view->data + section->sh_offset);
    view->symbol_count = section->sh_size / sizeof(Elf64_Sym);
    view->strings = view->data + strings->sh_offset;
    view->strings_size = strings->sh_size;
    return true;
}

static bool find_sections(struct elf_view *view)
{
    const Elf64_Ehdr *header = view->header;
    view->section_count = header->e_shnum;
    if (header->e_shoff % _Alignof(Elf64_Shdr) != 0 ||
        !elf_in_file(view, header->e_shoff,
                     view->section_count * sizeof(Elf64_Shdr)))
        return false;
    view->sections = (const Elf64_Shdr *)(view->data + header->e_shoff);
    for (size_t i = 0; i < view->section_count; i++)
        if (view->sections[i].sh_type != SHT_NOBITS &&
            !elf_in_file(view, view->sections[i].sh_offset,
                         view->sections[i].sh_size))
            return false;
    return has_strings(view, header->e_shstrndx);
}

bool elf_open(const struct text *file, struct elf_view *view)
{
    *view = (struct elf_view){.data = file->data, .size = file->size};
    view->header = (const Elf64_Ehdr *)file->data;
    if (file->size < sizeof(Elf64_Ehdr) ||
        memcmp(file->data, ELFMAG, SELFMAG) != 0 ||
        view->header->e_ident[EI_CLASS] != ELFCLASS64 ||
        view->header->e_shentsize != sizeof(Elf64_Shdr) ||
        !find_sections(view))
        return false;
    for (size_t i = 0; i < view->section_count; i++)
        if (!take_section(view, &view->sections[i]))
            return false;
    return view->symbols != NULL;
}

const char *elf_symbol_name(const struct elf_view *view,
                            const Elf64_Sym *symbol)
{
    return symbol->st_name < view->strings_size
               ? view->strings + symbol->st_name : "";
}

const Elf64_Sym *elf_find_symbol(const struct elf_view *view,
                                 const char *name)
{
    for (size_t i = 1; i < view->symbol_count; i++)
        if (strcmp(elf_symbol_name(view, &view->symbols[i]), name) == 0 &&
            view->symbols[i].st_shndx != SHN_UNDEF)
            return &view->symbols[i];
    return NULL;
}

static const char *section_name(const struct elf_view *view, size_t i)
{
    const Elf64_Shdr *names = &view->sections[view->header->e_shstrndx];
    size_t at = view->sections[i].sh_name;
    return at < names->sh_size ? view->data + names->sh_offset + at : "";
}

// --- What a kernel reaches -------------------------------------------------

// Marks every section that `start` refers to, directly or through others. As
// each function and variable has a section of its own, this is the call graph
// with all that is called through tables of pointers.
static void mark_reachable(const struct elf_view *view, size_t start,
                           bool *reached)
{
    size_t *stack = calloc(view->section_count, sizeof *stack);
    size_t depth = 0;
    if (!stack)
        exit(CC_CRASHED);
    reached[start] = true;
    stack[depth++] = start;
    while (depth > 0) {
        size_t from = stack[--depth];
        for (size_t r = 0; r < view->section_count; r++) {
            const Elf64_Shdr *section = &view->sections[r];
            if (section->sh_type != SHT_RELA || section->sh_info != from)
                continue;
            const Elf64_Rela *entries =
                (const Elf64_Rela *)(view->data + section->sh_offset);
            for (size_t e = 0; e < section->sh_size / sizeof *entries; e++) {
                size_t symbol = ELF64_R_SYM(entries[e].r_info);
                if (symbol >= view->symbol_count)
                    continue;
                size_t to = view->symbols[symbol].st_shndx;
                if (to < view->section_count && to != 0 && !reached[to]) {
                    reached[to] = true;
                    stack[depth++] = to;
                }
            }
        }
    }
    free(stack);
}

static void read_reached(const struct elf_view *view, const Elf64_Sym *start,
                         struct elf_kernel *kernel)
{
    bool *reached = calloc(view->section_count, sizeof *reached);
    if (!reached)
        exit(CC_CRASHED);
    mark_reachable(view, start->st_shndx, reached);
    for (size_t i = 0; i < view->section_count; i++) {
        if (!reached[i])
            continue;
        const char *name = section_name(view, i);
        if (strcmp(name, ".text.rnl_waits") == 0)
            kernel->flags |= RNL_CPU_KERNEL_WAITS;
        if ((view->sections[i].sh_flags & SHF_TLS) &&
            !strstr(name, "rnl_state"))
            kernel->shared_size += (uint32_t)view->sections[i].sh_size;
    }
    free(reached);
}

// --- A compiled unit -------------------------------------------------------

// The name of a function in a section, for relocations that only have its
// offset.
static const Elf64_Sym *function_at(const struct elf_view *view,
                                    const Elf64_Sym *section, int64_t offset)
{
    for (size_t i = 1; i < view->symbol_count; i++) {
        const Elf64_Sym *symbol = &view->symbols[i];
        if (symbol->st_shndx == section->st_shndx &&
            symbol->st_value == (uint64_t)offset &&
            ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
            return symbol;
    }
    return section;
}

// The function that the pointer at `offset` of a section will point to; NULL if
// there is none in this file.
static const Elf64_Sym *pointed_to(const struct elf_view *view, size_t home,
                                   uint64_t offset)
{
    for (size_t s = 0; s < view->section_count; s++) {
        const Elf64_Shdr *section = &view->sections[s];
        if (section->sh_type != SHT_RELA || section->sh_info != home)
            continue;
        const Elf64_Rela *entries =
            (const Elf64_Rela *)(view->data + section->sh_offset);
        for (size_t e = 0; e < section->sh_size / sizeof *entries; e++) {
            size_t index = ELF64_R_SYM(entries[e].r_info);
            if (entries[e].r_offset != offset || index >= view->symbol_count)
                continue;
            const Elf64_Sym *symbol = &view->symbols[index];
            if (symbol->st_shndx == SHN_UNDEF ||
                symbol->st_shndx >= view->section_count)
                return NULL;
            return ELF64_ST_TYPE(symbol->st_info) == STT_SECTION
                       ? function_at(view, symbol, entries[e].r_addend)
                       : symbol;
        }
    }
    return NULL;
}

// False for the record that fills an empty table.
static bool read_kernel(const struct elf_view *view, const Elf64_Sym *table,
                        size_t number, struct elf_kernel *kernel)
{
    uint64_t record = table->st_value + number * sizeof(rnl_cpu_kernel);
    const Elf64_Sym *threads =
        pointed_to(view, table->st_shndx,
                   record + offsetof(rnl_cpu_kernel, run_threads));
    const Elf64_Sym *blocks =
        pointed_to(view, table->st_shndx,
                   record + offsetof(rnl_cpu_kernel, run_blocks));
    const Elf64_Sym *start = blocks ? blocks : threads;
    if (!start || start->st_shndx >= view->section_count)
        return false;
    kernel->has_threads = threads;
    kernel->has_blocks = blocks;
    read_reached(view, start, kernel);
    return true;
}

static bool read_kernels(const struct elf_view *view, struct elf_unit *unit)
{
    const Elf64_Sym *table = elf_find_symbol(view, "rnl_kernels");
    if (!table || table->st_shndx >= view->section_count ||
        table->st_size > view->sections[table->st_shndx].sh_size ||
        table->st_size > view->size)
        return false;
    size_t room = table->st_size / sizeof(rnl_cpu_kernel);
    unit->kernels = calloc(room, sizeof *unit->kernels);
    if (!unit->kernels)
        exit(CC_CRASHED);
    while (unit->kernel_count < room &&
           read_kernel(view, table, unit->kernel_count,
                       &unit->kernels[unit->kernel_count]))
        unit->kernel_count++;
    return true;
}

// True for a symbol that the linked object or every process with a C library
// has: functions that compilers call themselves.
static bool is_everywhere(const char *name)
{
    static const char *const names[] = {
        "memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen",
        "__tls_get_addr", "_GLOBAL_OFFSET_TABLE_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void read_undefined(const struct elf_view *view, struct elf_unit *unit)
{
    for (size_t i = 1; i < view->symbol_count; i++) {
        const Elf64_Sym *symbol = &view->symbols[i];
        const char *name = elf_symbol_name(view, symbol);
        if (symbol->st_shndx != SHN_UNDEF)
            continue;
        if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS)
            list_add(&unit->dynamic, name);
        else if (ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
            unit->needs_libraries |= !is_everywhere(name);
    }
}

// Code that a loader would run.
static bool is_constructors(const char *section)
{
    static const char *const starts[] = {".init_array", ".ctors",
                                         ".preinit_array", ".fini_array",
                                         ".dtors", ".init", ".fini"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(section, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool constructs(const struct elf_view *view)
{
    bool found = false;
    for (size_t i = 1; i < view->symbol_count; i++)
        found |= ELF64_ST_TYPE(view->symbols[i].st_info) == STT_GNU_IFUNC;
    for (size_t i = 0; i < view->section_count; i++)
        found |= is_constructors(section_name(view, i)) &&
                 view->sections[i].sh_size > 0;
    return found;
}

bool elf_read_unit(const struct text *file, struct elf_unit *unit)
{
    struct elf_view view;
    if (!elf_open(file, &view))
        return false;
    unit->constructs = constructs(&view);
    read_undefined(&view, unit);
    return read_kernels(&view, unit);
}

void elf_unit_free(struct elf_unit *unit)
{
    free(unit->kernels);
    list_free(&unit->dynamic);
    *unit = (struct elf_unit){0};
}
