// Input and output of the linker: a stub for dynamic shared memory, and the
// fields of the table that only a linked object has.

#include "object/object.h"

#include <ctype.h>
#include <runnel/cpu_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
// The host gives dynamic shared memory room after the object's own, so the
// symbols only need to be at the end.
#define STUB_SIZE 1
#define STUB_MACHINE EM_X86_64
#else
#define STUB_SIZE RNL_CPU_DYNAMIC_LIMIT
#define STUB_MACHINE EM_AARCH64
#endif

// --- The stub --------------------------------------------------------------

enum { TLS = 1, SYMBOLS, STRINGS, NAMES, NOTE, SECTION_COUNT };

static const char section_names[] =
    "\0.tbss\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack";

static uint32_t name_offset(const char *name)
{
    for (size_t i = 1; i < sizeof section_names; i++)
        if (strcmp(section_names + i, name) == 0)
            return (uint32_t)i;
    return 0;
}

static void fill_sections(Elf64_Shdr sections[SECTION_COUNT],
                          const struct text *symbols,
                          const struct text *strings)
{
    uint64_t offset = sizeof(Elf64_Ehdr) + SECTION_COUNT * sizeof(Elf64_Shdr);
    sections[TLS] = (Elf64_Shdr){
        .sh_name = name_offset(".tbss"), .sh_type = SHT_NOBITS,
        .sh_flags = SHF_ALLOC | SHF_WRITE | SHF_TLS, .sh_offset = offset,
        .sh_size = STUB_SIZE, .sh_addralign = RNL_CPU_MEMORY_ALIGNMENT};
    sections[SYMBOLS] = (Elf64_Shdr){
        .sh_name = name_offset(".symtab"), .sh_type = SHT_SYMTAB,
        .sh_offset = offset, .sh_size = symbols->size, .sh_link = STRINGS,
        .sh_info = 1, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)};
    offset += symbols->size;
    sections[STRINGS] = (Elf64_Shdr){
        .sh_name = name_offset(".strtab"), .sh_type = SHT_STRTAB,
        .sh_offset = offset, .sh_size = strings->size, .sh_addralign = 1};
    offset += strings->size;
    sections[NAMES] = (Elf64_Shdr){
        .sh_name = name_offset(".shstrtab"), .sh_type = SHT_STRTAB,
        .sh_offset = offset, .sh_size = sizeof section_names,
        .sh_addralign = 1};
    // Says that no stack need be executable.
    sections[NOTE] = (Elf64_Shdr){
        .sh_name = name_offset(".note.GNU-stack"), .sh_type = SHT_PROGBITS,
        .sh_offset = offset, .sh_addralign = 1};
}

void elf_write_stub(const struct list *names, struct text *file)
{
    struct text symbols = {0}, strings = {0};
    text_add_bytes(&symbols, &(Elf64_Sym){0}, sizeof(Elf64_Sym));
    text_add_bytes(&strings, "", 1);
    for (size_t i = 0; i < names->count; i++) {
        Elf64_Sym symbol = {.st_name = (Elf64_Word)strings.size,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
                            .st_other = STV_HIDDEN, .st_shndx = TLS,
                            .st_size = STUB_SIZE};
        text_add_bytes(&symbols, &symbol, sizeof symbol);
        text_add_bytes(&strings, names->items[i], strlen(names->items[i]) + 1);
    }
    Elf64_Ehdr header = {.e_type = ET_REL, .e_machine = STUB_MACHINE,
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof header,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTION_COUNT, .e_shstrndx = NAMES};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    Elf64_Shdr sections[SECTION_COUNT] = {0};
    fill_sections(sections, &symbols, &strings);
    text_add_bytes(file, &header, sizeof header);
    text_add_bytes(file, sections, sizeof sections);
    text_add_bytes(file, symbols.data, symbols.size);
    text_add_bytes(file, strings.data, strings.size);
    text_add_bytes(file, section_names, sizeof section_names);
    text_free(&symbols);
    text_free(&strings);
}

// --- The table -------------------------------------------------------------

// Where `size` bytes at a symbol lie in the file; NULL if nowhere.
static void *symbol_bytes(struct text *file, const struct elf_view *view,
                          const char *name, size_t size)
{
    const Elf64_Sym *symbol = elf_find_symbol(view, name);
    if (!symbol || symbol->st_shndx >= view->section_count)
        return NULL;
    const Elf64_Shdr *section = &view->sections[symbol->st_shndx];
    uint64_t offset = symbol->st_value - section->sh_addr + section->sh_offset;
    if (section->sh_type == SHT_NOBITS || size > symbol->st_size ||
        !elf_in_file(view, offset, size))
        return NULL;
    return file->data + offset;
}

// Whether a record can lie there.
static bool is_record(const void *bytes)
{
    return bytes && (uintptr_t)bytes % _Alignof(rnl_cpu_object) == 0;
}

// Only block memory is laid out like the thread-local segment.
static void patch_thread(const struct elf_view *view, rnl_cpu_object *object)
{
#if defined(__x86_64__)
    const Elf64_Sym *state = elf_find_symbol(view, "rnl_state");
    if (!state || ELF64_ST_TYPE(state->st_info) != STT_TLS)
        return;
    object->thread_offset = state->st_value;
    object->flags |= RNL_CPU_OBJECT_TELLS;
#else
    (void)view;
    (void)object;
#endif
}

static bool patch_memory(const struct elf_view *view,
                         const struct elf_unit *unit, rnl_cpu_object *object)
{
    uint64_t end = 0, alignment = RNL_CPU_MEMORY_ALIGNMENT;
    uint64_t start = view->header->e_phoff;
    if (start % _Alignof(Elf64_Phdr) != 0 ||
        !elf_in_file(view, start,
                     view->header->e_phnum * sizeof(Elf64_Phdr)))
        return false;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(view->data + start);
    for (size_t i = 0; i < view->header->e_phnum; i++)
        if (segments[i].p_type == PT_TLS)
            end = segments[i].p_memsz;
    object->memory_size = (end + alignment - 1) / alignment * alignment;
    object->dynamic_offset = object->memory_size;
    if (unit->dynamic.count == 0)
        return true;
    const Elf64_Sym *dynamic = elf_find_symbol(view, unit->dynamic.items[0]);
    if (!dynamic || dynamic->st_value + STUB_SIZE < end)
        return false;  // something lies behind it that it would overwrite
    object->dynamic_offset = dynamic->st_value;
    return object->dynamic_offset % alignment == 0;
}

static void patch_kernel(const struct elf_kernel *kernel,
                         rnl_cpu_kernel *record)
{
    record->flags = kernel->flags;
    record->shared_size = kernel->shared_size;
    memcpy(record->block_size, kernel->block_size, sizeof record->block_size);
    if (!kernel->has_threads)
        record->form = RNL_CPU_FORM_BLOCKS;
    if (!kernel->has_blocks)
        snprintf(record->reason, sizeof record->reason, "%s",
                 kernel->reason ? kernel->reason : "");
}

bool elf_patch(struct text *file, const struct elf_unit *unit)
{
    struct elf_view view;
    if (!elf_open(file, &view))
        return false;
    rnl_cpu_object *object =
        symbol_bytes(file, &view, RNL_CPU_OBJECT_SYMBOL, sizeof *object);
    rnl_cpu_kernel *kernels =
        symbol_bytes(file, &view, "rnl_kernels",
                     unit->kernel_count * sizeof *kernels);
    if (!is_record(object) || (unit->kernel_count && !is_record(kernels)))
        return false;
    for (size_t i = 0; i < unit->kernel_count; i++) {
        patch_kernel(&unit->kernels[i], &kernels[i]);
        if (unit->kernels[i].has_blocks)
            object->tier = 'B';
    }
    if (unit->tells_thread)
        patch_thread(&view, object);
    return patch_memory(&view, unit, object);
}
