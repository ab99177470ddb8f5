#include "backends/cpu/jit/object_file.h"

#include "backends/cpu/jit/imports.h"
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/fault.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/machine/cpu_features.h"
#include "base/env.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/dynlib.h"
#include "base/text.h"
#include "core/module/function.h"
#include "core/object/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if UINTPTR_MAX == UINT64_MAX
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
typedef Elf64_Shdr elf_section;
#define ELF_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
typedef Elf32_Shdr elf_section;
#define ELF_CLASS ELFCLASS32
#endif

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#elif defined(__riscv)
#define ELF_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define ELF_MACHINE EM_PPC64
#else
#define ELF_MACHINE EM_NONE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ELF_ORDER ELFDATA2LSB
#else
#define ELF_ORDER ELFDATA2MSB
#endif

struct envelope {
    char magic[8];
    uint64_t size;            // of the ELF object behind it
    struct hash128 checksum;  // of that
};

static const char envelope_magic[8] = "RNLCPU1";

// --- ELF -------------------------------------------------------------------

static const char *header_fault(const elf_header *header)
{
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    if (header->e_ident[EI_CLASS] != ELF_CLASS ||
        header->e_ident[EI_DATA] != ELF_ORDER ||
        header->e_machine != ELF_MACHINE)
        return "it is for another kind of processor";
    if (header->e_type != ET_DYN)
        return "it is no shared object";
    if (header->e_phentsize != sizeof(elf_segment) || header->e_phnum == 0)
        return "it has no segments";
    return NULL;
}

static bool within(uint64_t offset, uint64_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

static elf_segment segment_at(const void *elf, const elf_header *header,
                              size_t index)
{
    elf_segment segment;
    memcpy(&segment,
           (const char *)elf + header->e_phoff + index * sizeof segment,
           sizeof segment);
    return segment;
}

// Whether the memory of the object can be mapped: the loader does not report a
// lack.
static bool has_room(const void *elf)
{
    elf_header header;
    uint64_t size = 0;
    memcpy(&header, elf, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        elf_segment segment = segment_at(elf, &header, i);
        uint64_t end = segment.p_vaddr + segment.p_memsz;
        if (segment.p_type == PT_LOAD && end > size)
            size = end;
    }
    void *room = size == 0 ? NULL
                           : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room && room != MAP_FAILED)
        munmap(room, size);
    return room != MAP_FAILED || errno != ENOMEM;
}

const char *object_file_fault(const void *elf, size_t size)
{
    elf_header header;
    if (size < sizeof header)
        return "it is too short";
    memcpy(&header, elf, sizeof header);
    const char *fault = header_fault(&header);
    if (fault)
        return fault;
    if (!within(header.e_phoff, header.e_phnum * sizeof(elf_segment), size))
        return "its end is missing";
    bool dynamic = false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        elf_segment segment = segment_at(elf, &header, i);
        if (!within(segment.p_offset, segment.p_filesz, size) ||
            (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz))
            return "its end is missing";
        dynamic |= segment.p_type == PT_DYNAMIC;
    }
    return dynamic ? NULL : "it has no dynamic section";
}

static bool read_section(const void *elf, size_t size,
                         const elf_header *header, size_t index,
                         elf_section *out)
{
    uint64_t offset = header->e_shoff + index * sizeof *out;
    if (index >= header->e_shnum || header->e_shoff > size ||
        !within(offset, sizeof *out, size))
        return false;
    memcpy(out, (const char *)elf + offset, sizeof *out);
    return true;
}

// Whether the object has debug lines. A damaged object counts as without.
static bool has_lines(const void *elf, size_t size)
{
    static const char wanted[] = ".debug_line";
    elf_header header;
    elf_section names, section;
    memcpy(&header, elf, sizeof header);
    if (!read_section(elf, size, &header, header.e_shstrndx, &names) ||
        !within(names.sh_offset, names.sh_size, size))
        return false;
    for (size_t i = 0; read_section(elf, size, &header, i, &section); i++)
        if (within(section.sh_name, sizeof wanted, names.sh_size) &&
            memcmp((const char *)elf + names.sh_offset + section.sh_name,
                   wanted, sizeof wanted) == 0)
            return true;
    return false;
}

// --- Envelope --------------------------------------------------------------

rnl_status object_file_wrap(const void *elf, size_t size, void **out_data,
                       size_t *out_size)
{
    struct envelope envelope = {.size = size, .checksum = hash_128(elf, size)};
    char *data = mem_allocate(sizeof envelope + size);
    if (!data)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for an object of %zu bytes", size);
    memcpy(envelope.magic, envelope_magic, sizeof envelope_magic);
    memcpy(data, &envelope, sizeof envelope);
    memcpy(data + sizeof envelope, elf, size);
    *out_data = data;
    *out_size = sizeof envelope + size;
    return RNL_OK;
}

static const char *envelope_fault(const void *data, size_t size)
{
    struct envelope envelope;
    if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0)
        return "it is a bare ELF file, without the checksum that "
               "rnl_module_binary puts in front";
    if (size < sizeof envelope)
        return "it is too short";
    memcpy(&envelope, data, sizeof envelope);
    if (memcmp(envelope.magic, envelope_magic, sizeof envelope_magic) != 0)
        return "it does not start as a cpu object does";
    if (envelope.size != size - sizeof envelope)
        return "its size is not what it says";
    struct hash128 hash =
        hash_128((const char *)data + sizeof envelope, envelope.size);
    if (hash.low != envelope.checksum.low ||
        hash.high != envelope.checksum.high)
        return "its checksum does not fit: it is damaged";
    return NULL;
}

void object_file_unwrap(const void *data, const void **out_elf,
                        size_t *out_size)
{
    struct envelope envelope;
    memcpy(&envelope, data, sizeof envelope);
    *out_elf = (const char *)data + sizeof envelope;
    *out_size = (size_t)envelope.size;
}

// --- Loading ---------------------------------------------------------------

// "/" and "/." stand for bits.
static void add_bits(struct text *path, uint64_t value)
{
    char bits[2 * 64];
    size_t size = 0;
    for (int i = 0; i < 64; i++) {
        bits[size++] = '/';
        if (value >> i & 1)
            bits[size++] = '.';
    }
    text_add_bytes(path, bits, size);
}

// The loader takes equal paths for the same object, and descriptor numbers are
// reused. So each path is spelled uniquely: by a number never used before, and
// by the address of this copy of the library, because another copy in the
// process counts for itself.
static void add_unique_path(struct text *path, int fd)
{
    static char here;
    text_add(path, "/proc/self/fd");
    add_bits(path, object_new_id());
    add_bits(path, (uintptr_t)&here);
    text_add(path, "/%d", fd);
}

// Loads from an anonymous file: each load is an instance of its own, and no
// process can change the file between check and load. An errno value if no file
// could be made; `*library` stays NULL if the loader refuses the file.
static int open_in_memory(const void *elf, size_t size, void **library)
{
    int fd = memfd_create("runnel-module", MFD_CLOEXEC);
    if (fd < 0)
        return errno;
    struct text path = {0};
    add_unique_path(&path, fd);
    int error = path.failed ? ENOMEM : file_write(fd, elf, size);
    if (error == 0)
        *library = dynlib_load(path.data);
    text_finish(&path);
    close(fd);
    return error;
}

// With the folder, which is its own. The path is as before then.
static void remove_file(char *path)
{
    char *end = strrchr(path, '/');
    unlink(path);
    *end = '\0';
    rmdir(path);
    *end = '/';
}

static int load_file(char *path, const void *elf, size_t size, void **library,
                     char **out_path)
{
    int error = file_write_path(path, elf, size);
    if (error == 0)
        *library = dynlib_load(path);
    char *kept = *library && out_path ? text_copy(path) : NULL;
    if (kept)
        *out_path = kept;
    else
        remove_file(path);
    return error;
}

// For systems without /proc, or with memory files that may not be executed. The
// file is removed at once unless the path is wanted.
static int open_as_file(const void *elf, size_t size, void **library,
                        char **out_path)
{
    static const char file[] = "/module.so";
    const char *base = env_get("TMPDIR");
    struct text path = {0};
    text_add(&path, "%s/runnel-XXXXXX%s", base && *base ? base : "/tmp", file);
    int error = path.failed ? ENOMEM : 0;
    if (error == 0) {
        char *end = path.data + path.length - (sizeof file - 1);
        *end = '\0';
        error = mkdtemp(path.data) ? 0 : errno;
        *end = file[0];
    }
    if (error == 0)
        error = load_file(path.data, elf, size, library, out_path);
    text_finish(&path);
    return error;
}

// Debuggers open an object by the path of its load, possibly long after the
// load, so the file stays.
static int open_object(const void *elf, size_t size, void **library,
                       char **out_path)
{
    int error = 0;
    *library = NULL;
    *out_path = NULL;
    dlerror();  // left by another process
    if (has_lines(elf, size))
        error = open_as_file(elf, size, library, out_path);
    if (!*library)
        error = open_in_memory(elf, size, library);
    if (!*library)
        error = open_as_file(elf, size, library, NULL);
    return error;
}

static void close_object(void *library, char *path)
{
    dynlib_unload(library);
    if (path)
        remove_file(path);
    text_release(path);
}

// True when `address` lies in the loaded object itself.
static bool is_inside(const void *address, const void *base)
{
    return dynlib_base(address) == base;
}

// The same for the first and the last byte of an array.
static bool is_array_inside(const void *array, size_t count, size_t size,
                            const void *base)
{
    return count == 0 ||
           (is_inside(array, base) &&
            is_inside((const char *)array + count * size - 1, base));
}

// The functions that the kernel's form promises, and optional functions.
static bool is_code_inside(const rnl_cpu_object *table,
                           const rnl_cpu_kernel *kernel, const void *base)
{
    const void *threads = (const void *)(uintptr_t)kernel->run_threads;
    const void *blocks = NULL;
    if (table->kernel_size >= offsetof(rnl_cpu_kernel, block_size))
        blocks = (const void *)(uintptr_t)kernel->run_blocks;
    if (kernel->form == RNL_CPU_FORM_THREADS && !is_inside(threads, base))
        return false;
    return blocks ? is_inside(blocks, base)
                  : kernel->form != RNL_CPU_FORM_BLOCKS;
}

static const char *kernels_fault(const rnl_cpu_object *table, const void *base)
{
    if (!is_array_inside(table->kernels, table->kernel_count,
                         table->kernel_size, base))
        return "its table of kernels is not its own";
    for (size_t i = 0; i < table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = object_file_kernel(table, i);
        if (!kernel->name || !kernel->symbol ||
            !is_array_inside(kernel->parameters, kernel->parameter_count,
                             table->parameter_size, base))
            return "a kernel's record is incomplete";
        if (!memchr(object_file_reason(table, kernel), 0, RNL_CPU_REASON_SIZE))
            return "a kernel's record is incomplete";
        if (!is_code_inside(table, kernel, base))
            return "a kernel's code is not its own";
    }
    return NULL;
}

static const char *globals_fault(const rnl_cpu_object *table, const void *base)
{
    if (!is_array_inside(table->globals, table->global_count,
                         table->global_size, base))
        return "its table of variables is not its own";
    for (size_t i = 0; i < table->global_count; i++) {
        const rnl_cpu_global *global = object_file_global(table, i);
        if (!global->name || !is_inside(global->address, base))
            return "a variable's record is incomplete";
    }
    return NULL;
}

static const char *table_fault(const rnl_cpu_object *table)
{
    const void *base = dynlib_base(table);
    if (!base)
        return "it does not have the symbol " RNL_CPU_OBJECT_SYMBOL;
    if (table->magic != RNL_CPU_OBJECT_MAGIC)
        return "its table does not start as it should";
    if (table->abi != RNL_CPU_ABI)
        return "it was made for another version of Runnel";
    if (table->struct_size < offsetof(rnl_cpu_object, processor) ||
        table->kernel_size < offsetof(rnl_cpu_kernel, run_blocks) ||
        table->parameter_size < sizeof(rnl_cpu_parameter) ||
        table->global_size < sizeof(rnl_cpu_global))
        return "its records are shorter than this version's";
    if (!is_inside((const void *)(uintptr_t)table->set_services, base))
        return "it takes no services";
    const char *fault = kernels_fault(table, base);
    return fault ? fault : globals_fault(table, base);
}

// The instruction sets that the object needs, if recorded.
static uint64_t object_needs(const rnl_cpu_object *table)
{
    return table->struct_size >= offsetof(rnl_cpu_object, thread_offset)
               ? table->processor
               : 0;
}

static rnl_status refuse(const char *fault)
{
    return fail(RNL_ERROR_INVALID_BINARY, "the binary is no cpu object: %s",
                fault);
}

static rnl_status refuse_imports(const char *fault, const char *name)
{
    return fail(RNL_ERROR_INVALID_BINARY,
                "the cpu object is not loaded: %s%s%s%s; make it with "
                "runnel-cc", fault, name[0] ? ", '" : "", name,
                name[0] ? "'" : "");
}

static rnl_status refuse_file(int error)
{
    rnl_status status =
        error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO;
    fail(status, "no file could be made to load the cpu object from: %s",
         strerror(error));
    fail_set_native(error, strerror(error));
    return status;
}

static rnl_status refuse_open(const void *elf, int error)
{
    const char *words = dlerror();
    if (!words)
        return refuse_file(error);
    if (!has_room(elf))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to load the cpu object into");
    fail(RNL_ERROR_INVALID_BINARY, "the cpu object cannot be loaded: %s",
         words);
    fail_set_native(0, words);
    return RNL_ERROR_INVALID_BINARY;
}

// The address range of the object's code segments after loading.
static struct code_range code_of(const void *elf, const void *base)
{
    elf_header header;
    struct code_range code = {.low = UINTPTR_MAX};
    memcpy(&header, elf, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        elf_segment segment = segment_at(elf, &header, i);
        uintptr_t low = (uintptr_t)base + (uintptr_t)segment.p_vaddr;
        uintptr_t high = low + (uintptr_t)segment.p_memsz;
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        code.low = low < code.low ? low : code.low;
        code.high = high > code.high ? high : code.high;
    }
    return code;
}

rnl_status object_file_load(const void *data, size_t size,
                       struct loaded_object *out_object)
{
    const char *fault = envelope_fault(data, size);
    if (fault)
        return refuse(fault);
    const char *elf = (const char *)data + sizeof(struct envelope);
    size_t elf_size = size - sizeof(struct envelope);
    fault = object_file_fault(elf, elf_size);
    if (fault)
        return refuse(fault);
    char name[IMPORT_NAME_SIZE];
    fault = imports_fault(elf, elf_size, name);
    if (fault)
        return refuse_imports(fault, name);
    char *path;
    void *library;
    int error = open_object(elf, elf_size, &library, &path);
    if (!library)
        return refuse_open(elf, error);
    const rnl_cpu_object *table = dynlib_symbol(library, RNL_CPU_OBJECT_SYMBOL);
    fault = table_fault(table);
    const char *missing =
        fault ? NULL : cpu_features_missing(object_needs(table));
    if (missing) {
        close_object(library, path);
        return fail(RNL_ERROR_INVALID_BINARY,
                    "the cpu object was made for another processor: this one "
                    "lacks %s", missing);
    }
    if (!fault && table->set_services(block_services()) != 0)
        fault = "it needs services that this version does not have";
    if (fault) {
        close_object(library, path);
        return refuse(fault);
    }
    fault_install();
    stop_install();
    *out_object = (struct loaded_object){library, table, path,
                                         code_of(elf, dynlib_base(table))};
    return RNL_OK;
}

void object_file_unload(struct loaded_object *object)
{
    close_object(object->library, object->path);
    *object = (struct loaded_object){0};
}

// --- Tables ----------------------------------------------------------------

const rnl_cpu_kernel *object_file_kernel(const rnl_cpu_object *table,
                                         size_t index)
{
    const char *records = (const char *)table->kernels;
    return (const void *)(records + index * table->kernel_size);
}

const char *object_file_reason(const rnl_cpu_object *table,
                          const rnl_cpu_kernel *kernel)
{
    static const char none[RNL_CPU_REASON_SIZE];
    size_t end = offsetof(rnl_cpu_kernel, reason) + sizeof kernel->reason;
    return table->kernel_size >= end ? kernel->reason : none;
}

bool object_file_fixed(const rnl_cpu_object *table,
                       const rnl_cpu_kernel *kernel)
{
    return table->kernel_size >= offsetof(rnl_cpu_kernel, reserved_2) &&
           kernel->block_size[0] > 0;
}

const rnl_cpu_parameter *object_file_parameter(const rnl_cpu_object *table,
                                          const rnl_cpu_kernel *kernel,
                                          size_t index)
{
    const char *records = (const char *)kernel->parameters;
    return (const void *)(records + index * table->parameter_size);
}

const rnl_cpu_global *object_file_global(const rnl_cpu_object *table,
                                         size_t index)
{
    const char *records = (const char *)table->globals;
    return (const void *)(records + index * table->global_size);
}
