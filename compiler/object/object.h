// Room object: reads compiled objects and completes the table of a linked one.
#pragma once

#include "base/base.h"

#include <elf.h>

// --- elf.c: a 64-bit ELF file in memory, its headers checked -----------------

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

// Facts about one kernel that only the compiled object shows.
struct elf_kernel {
    unsigned block_size[3];  // the only size of its code; [0] 0: all sizes
    uint32_t flags;          // of its record
    bool has_threads;        // functions of its record
    bool has_blocks;
    uint32_t shared_size;
    const char *reason;      // why it has no lanes, or NULL
};

struct elf_unit {
    struct list dynamic;     // undefined thread-local symbols
    bool constructs;         // a loader would run code
    bool needs_libraries;    // some symbol is not in every process
    struct elf_kernel *kernels;
    size_t kernel_count;
    bool tells_thread;       // rnl_state.thread is right at every fault
};

// Reads a relocatable object. False for another file.
bool elf_read_unit(const struct text *file, struct elf_unit *unit);
void elf_unit_free(struct elf_unit *unit);

// --- object_table.c ----------------------------------------------------------

// Makes a relocatable object that defines `names`, all at one address, in
// thread-local memory.
void elf_write_stub(const struct list *names, struct text *file);

// Writes sizes, flags and symbols into the table of a linked object.
bool elf_patch(struct text *file, const struct elf_unit *unit);
