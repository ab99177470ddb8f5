// A 64-bit ELF file in memory, its headers checked.
#pragma once

#include "cc.h"

#include <elf.h>

struct elf_view {
    const char *data;
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    size_t section_count;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *strings;
    size_t strings_size;
};

bool elf_open(const struct text *file, struct elf_view *view);
bool elf_in_file(const struct elf_view *view, uint64_t offset, uint64_t size);
const char *elf_symbol_name(const struct elf_view *view,
                            const Elf64_Sym *symbol);
// A defined symbol, or NULL.
const Elf64_Sym *elf_find_symbol(const struct elf_view *view,
                                 const char *name);
