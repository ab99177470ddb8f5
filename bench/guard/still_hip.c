// libamdhip64 and hiprtc that do nothing at once, for guard.sh: what is left of
// a call is Runnel's own, and how often it calls the driver.
//
// still_hip_rest.c has the symbols that only say success. Work is always done.
#include "still.h"

#include <elf.h>
#include <string.h>

enum { VERSION = 60443484, ARCH_AT = 396, ARCH_AT_6 = 1160 };

#define ARCH "gfx90a"

static _Thread_local int current;

static int version(int *out_version)
{
    *out_version = VERSION;
    return 0;
}

static int attribute(int *out_value, int id, int of)
{
    (void)id, (void)of;
    *out_value = 1024;
    return 0;
}

static int properties(char *out_properties)
{
    strcpy(out_properties + ARCH_AT, ARCH);
    return 0;
}

static int properties_6(char *out_properties)
{
    strcpy(out_properties + ARCH_AT_6, ARCH);
    return 0;
}

static const char *error(int code)
{
    (void)code;
    return "an error";
}

static int get_device(int *out_device)
{
    *out_device = current;
    return 0;
}

static int set_device(int of)
{
    current = of;
    return 0;
}

static int stream_device(void *stream, int *out_device)
{
    (void)stream;
    *out_device = 0;
    return 0;
}

// --- hiprtc ------------------------------------------------------------------
//
// Whatever is compiled, out come kernels with 0, 3, 16 and 64 arguments.

enum { CODE_SIZE = 16384 };

static struct {
    Elf64_Ehdr header;
    Elf64_Shdr none, note;
    Elf64_Nhdr note_header;
    char note_name[8];
    unsigned char text[CODE_SIZE];
} code;

static size_t used;

static void put(unsigned byte)
{
    code.text[used++] = (unsigned char)byte;
}

static void put_text(const char *text)
{
    size_t length = strlen(text);
    put(0xd9);
    put((unsigned)length);
    memcpy(code.text + used, text, length);
    used += length;
}

static void put_number(const char *name, unsigned number)
{
    put_text(name);
    put(0xcd);
    put(number >> 8);
    put(number & 255);
}

static void put_parameter(unsigned index)
{
    static const unsigned offsets[] = {0, 8, 12}, sizes[] = {8, 4, 4};
    put(0x83);
    put_number(".offset", index / 3 * 16 + offsets[index % 3]);
    put_number(".size", sizes[index % 3]);
    put_text(".value_kind");
    put_text(index % 3 ? "by_value" : "global_buffer");
}

static void put_kernel(unsigned count)
{
    char name[16];
    snprintf(name, sizeof name, "args%u", count);
    put(0x82);
    put_text(".name");
    put_text(name);
    put_text(".args");
    put(0xdc);
    put(0);
    put(count);
    for (unsigned i = 0; i < count; i++)
        put_parameter(i);
}

static void make_code(void)
{
    static const unsigned counts[] = {0, 3, 16, 64};
    if (used > 0)
        return;
    put(0x81);
    put_text("amdhsa.kernels");
    put(0x94);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        put_kernel(counts[i]);
    code.header = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                    EV_CURRENT, 64, 3},
        .e_type = ET_DYN,
        .e_machine = 224,  // EM_AMDGPU
        .e_version = EV_CURRENT,
        .e_shoff = (size_t)((char *)&code.none - (char *)&code),
        .e_ehsize = sizeof code.header,
        .e_shentsize = sizeof code.none,
        .e_shnum = 2,
    };
    code.note.sh_type = SHT_NOTE;
    code.note.sh_offset = (size_t)((char *)&code.note_header - (char *)&code);
    code.note.sh_size =
        sizeof code.note_header + sizeof code.note_name + CODE_SIZE;
    code.note_header = (Elf64_Nhdr){7, CODE_SIZE, 32};
    strcpy(code.note_name, "AMDGPU");
}

static int no_log(void *program, size_t *out_size)
{
    (void)program;
    *out_size = 0;
    return 0;
}

static int code_size(void *program, size_t *out_size)
{
    (void)program;
    *out_size = sizeof code;
    return 0;
}

static int get_code(void *program, void *out)
{
    (void)program;
    make_code();
    memcpy(out, &code, sizeof code);
    return 0;
}

static int one_isa(size_t *out_count)
{
    *out_count = 1;
    return 0;
}

static int isa_name(size_t index, const char **out_name)
{
    (void)index;
    *out_name = "amdgcn-amd-amdhsa--" ARCH;
    return 0;
}

// --- Symbols -----------------------------------------------------------------

#define ENTRY(vendor, function) \
    extern __typeof__(function) vendor __attribute__((alias(#function)));

ENTRY(hipGetDeviceCount, one_device)
ENTRY(hipDriverGetVersion, version)
ENTRY(hipDeviceGet, device)
ENTRY(hipDeviceGetName, text)
ENTRY(hipDeviceGetPCIBusId, text)
ENTRY(hipDeviceTotalMem, memory)
ENTRY(hipDeviceGetAttribute, attribute)
ENTRY(hipGetDeviceProperties, properties)
ENTRY(hipGetDevicePropertiesR0600, properties_6)
ENTRY(hipFuncGetAttribute, function_attribute)
ENTRY(hipGetErrorName, error)
ENTRY(hipGetErrorString, error)
ENTRY(hipGetDevice, get_device)
ENTRY(hipSetDevice, set_device)
ENTRY(hipStreamGetDevice, stream_device)
ENTRY(hipStreamCreateWithPriority, handle)
ENTRY(hipEventCreateWithFlags, handle)
ENTRY(hipEventElapsedTime, elapsed)
ENTRY(hipModuleLoadData, handle)
ENTRY(hipModuleGetFunction, handle)
ENTRY(hipGraphCreate, handle)
ENTRY(hipGraphInstantiateWithFlags, handle)
ENTRY(hipGraphAddKernelNode, handle)
ENTRY(hipGraphAddEmptyNode, handle)
ENTRY(hipMalloc, allocate)
ENTRY(hipHostMalloc, allocate_host)
ENTRY(hipFree, release)
ENTRY(hipHostFree, release)
ENTRY(hipStreamWriteValue32, write_value)

ENTRY(hiprtcGetErrorString, error)
ENTRY(hiprtcVersion, nothing)
ENTRY(hiprtcCreateProgram, handle)
ENTRY(hiprtcDestroyProgram, nothing)
ENTRY(hiprtcAddNameExpression, nothing)
ENTRY(hiprtcCompileProgram, nothing)
ENTRY(hiprtcGetProgramLogSize, no_log)
ENTRY(hiprtcGetProgramLog, nothing)
ENTRY(hiprtcGetCodeSize, code_size)
ENTRY(hiprtcGetCode, get_code)
ENTRY(hiprtcGetLoweredName, nothing)
ENTRY(amd_comgr_get_isa_count, one_isa)
ENTRY(amd_comgr_get_isa_name, isa_name)
