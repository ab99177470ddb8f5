// What the linker needs and leaves to be done: a stub for dynamic shared
// memory, and the numbers of the table that only a linked object has.
#include "cc.h"
#include "elf_view.h"

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

// A back reference in a mangled name: S_, S0_, … S9_, SA_, … in base 36.
static bool is_reference(const char *part)
{
    unsigned char next = (unsigned char)part[1];
    return part[0] == 'S' && (next == '_' || isdigit(next) || isupper(next));
}

// Bytes of the next element of a mangled name that is no back reference: an
// identifier and a literal are taken as a whole, whatever letters they have.
static size_t element_size(const char *part)
{
    size_t number = 0;
    int digits = 0;
    if (part[0] == 'L' && islower((unsigned char)part[1]))
        return strcspn(part, "E");  // Li7E
    if (part[0] == 'T' || part[0] == 'A')
        return strcspn(part, "_");  // a parameter T0_, an array A4_
    if (sscanf(part, "%zu%n", &number, &digits) == 1)
        return (size_t)digits + number;
    return 1;
}

// Copies part of a mangled name, in which back references count from the start
// of the whole: rnl_entry, the only thing before the part that they count, is
// taken off.
static void copy_shifted(const char *part, size_t size, struct text *out)
{
    const char *end = part + size;
    while (part < end) {
        size_t length;
        if (is_reference(part)) {
            unsigned long index = strtoul(part + 1, NULL, 36);
            length = strcspn(part, "_") + 1;
            if (index == 0)
                text_add(out, "S_");
            else if (index <= 10)
                text_format(out, "S%lu_", index - 1);
            else
                text_format(out, "S%c_", (int)('A' + (index - 11) % 26));
        } else {
            length = element_size(part);
            if (length > (size_t)(end - part) || length == 0)
                length = (size_t)(end - part);
            text_add_bytes(out, part, length);
        }
        part += length;
    }
}

// The kernel's own symbol out of that of its entry, as in
// "_Z9rnl_entryIXadL_Z5scaleIfEvPT_EEEvP13rnl_cpu_block"; newer compilers put
// "TnDa" before the X. A plain C function appears there as "_Z" and its name,
// with no types after it.
static void write_symbol(const char *entry, char symbol[RNL_CPU_SYMBOL_SIZE])
{
    static const char suffix[] = "EEEvP13rnl_cpu_block";
    const char *start = strstr(entry, "XadL_Z");
    memset(symbol, 0, RNL_CPU_SYMBOL_SIZE);
    if (!start)
        return;
    start += strlen("XadL");
    size_t size = strlen(start);
    if (size < sizeof suffix - 1 ||
        strcmp(start + size - (sizeof suffix - 1), suffix) != 0)
        return;
    size -= sizeof suffix - 1;
    size_t length = 0;
    int digits = 0;
    struct text name = {0};
    if (sscanf(start, "_Z%zu%n", &length, &digits) == 1 &&
        (size_t)digits + length == size)
        text_add_bytes(&name, start + digits, length);
    else
        copy_shifted(start, size, &name);
    if (name.size < RNL_CPU_SYMBOL_SIZE)
        memcpy(symbol, name.data, name.size);
    text_free(&name);
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

#if defined(__x86_64__)  // elsewhere libgcc asks for the processor's features
// No code runs when the object is loaded: what is left of constructors, in
// objects for debuggers, does nothing.
static void drop_constructors(struct text *file, const struct elf_view *view)
{
    for (size_t s = 0; s < view->section_count; s++) {
        const Elf64_Shdr *section = &view->sections[s];
        if (section->sh_type != SHT_DYNAMIC)
            continue;
        Elf64_Dyn *entries = (Elf64_Dyn *)(file->data + section->sh_offset);
        for (size_t i = 0; i < section->sh_size / sizeof *entries; i++)
            if (entries[i].d_tag == DT_INIT_ARRAYSZ)
                entries[i].d_un.d_val = 0;
    }
}
#else
static void drop_constructors(struct text *file, const struct elf_view *view)
{
    (void)file, (void)view;
}
#endif

bool elf_patch(struct text *file, const struct elf_unit *unit)
{
    struct elf_view view;
    if (!elf_open(file, &view))
        return false;
    drop_constructors(file, &view);
    rnl_cpu_object *object =
        symbol_bytes(file, &view, RNL_CPU_OBJECT_SYMBOL, sizeof *object);
    rnl_cpu_kernel *kernels =
        symbol_bytes(file, &view, "rnl_kernels",
                     unit->kernel_count * sizeof *kernels);
    char(*symbols)[RNL_CPU_SYMBOL_SIZE] =
        symbol_bytes(file, &view, "rnl_symbols",
                     unit->kernel_count * sizeof *symbols);
    if (!is_record(object) ||
        (unit->kernel_count && (!is_record(kernels) || !symbols)))
        return false;
    for (size_t i = 0; i < unit->kernel_count; i++) {
        const struct elf_kernel *kernel = &unit->kernels[i];
        if (!kernel->symbol)
            return false;
        kernels[i].flags = kernel->flags;
        kernels[i].shared_size = kernel->shared_size;
        memcpy(kernels[i].block_size, kernel->block_size,
               sizeof kernel->block_size);
        if (!kernel->has_threads)
            kernels[i].form = RNL_CPU_FORM_BLOCKS;
        if (kernel->has_blocks)
            object->tier = 'B';
        write_symbol(kernel->symbol, symbols[i]);
    }
    if (unit->tells_thread)
        patch_thread(&view, object);
    return patch_memory(&view, unit, object);
}
