// Images of the fake: a cubin is an ELF file whose one section is the payload,
// a PTX text has it in comments at its end.
#include "fake.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

// The machine of ELF files for NVIDIA or AMD GPUs.
enum { MACHINE = FAKE_IS_HIP ? 224 : 190 };
enum { LINE_BYTES = 36, FLAGS = 0x5a055a, WAITS = 1 };

static const char mark[] = "// RUNNEL_FAKE ";
static const char hex[] = "0123456789abcdef";

// --- What a code object of AMD's says of its kernels -------------------------

static void put(struct text *text, unsigned byte)
{
    text_add_bytes(text, &(unsigned char){(unsigned char)byte}, 1);
}

static void put_text(struct text *text, const char *words)
{
    put(text, 0xd9);
    put(text, (unsigned)strlen(words));
    text_add_bytes(text, words, strlen(words));
}

static void put_number(struct text *text, const char *key, size_t number)
{
    put_text(text, key);
    put(text, 0xcd);
    put(text, (unsigned)(number >> 8));
    put(text, (unsigned)number & 255);
}

// Between the values of the kernel and the end is what the compiler adds.
static void put_kernel(struct text *text, const struct fake_kernel *kernel)
{
    size_t offset = 0;
    put(text, 0x82);
    put_text(text, ".args");
    put(text, 0xdc);
    put(text, (unsigned)((kernel->parameter_count + 1) >> 8));
    put(text, (unsigned)(kernel->parameter_count + 1) & 255);
    for (size_t i = 0; i <= kernel->parameter_count; i++) {
        bool last = i == kernel->parameter_count;
        rnl_parameter end = {.size = 8, .alignment = 8};
        const rnl_parameter *one = last ? &end : &kernel->parameters[i];
        bool pointer = one->kind == RNL_VALUE_POINTER;
        offset = (offset + one->alignment - 1) & ~(size_t)(one->alignment - 1);
        put(text, 0x83);
        put_number(text, ".offset", offset);
        put_number(text, ".size", one->size);
        put_text(text, ".value_kind");
        put_text(text, last ? "hidden_global_offset_x"
                       : pointer ? "global_buffer" : "by_value");
        offset += one->size;
    }
    put_text(text, ".name");
    put_text(text, kernel->name);
}

static void describe(const struct fake_kernel *kernels, size_t count,
                     struct text *note)
{
    struct text text = {0};
    put(&text, 0x81);
    put_text(&text, "amdhsa.kernels");
    put(&text, 0xdc);
    put(&text, (unsigned)(count >> 8));
    put(&text, (unsigned)count & 255);
    for (size_t i = 0; i < count; i++)
        put_kernel(&text, kernels + i);
    Elf64_Nhdr header = {.n_namesz = 7, .n_type = 32};
    header.n_descsz = (uint32_t)text.length;
    text_add_bytes(note, &header, sizeof header);
    text_add_bytes(note, "AMDGPU\0", 8);
    text_add_bytes(note, text.data, text.length);
    text_add_bytes(note, "\0\0\0", 3);
    text_finish(&text);
}

static void *make(const void *payload, size_t size, bool waits,
                  const struct fake_kernel *kernels, size_t count,
                  size_t *out_size)
{
    size_t padded = (size + 15) & ~(size_t)15;
    size_t total = sizeof(Elf64_Ehdr) + padded + 2 * sizeof(Elf64_Shdr);
    struct text note = {0};
    if (FAKE_IS_HIP)
        describe(kernels, count, &note);
    unsigned char *image = calloc(1, total + sizeof(Elf64_Shdr) + note.length);
    if (!image)
        return NULL;
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                    ELFDATA2LSB, EV_CURRENT, 0x33, 7},
        .e_type = ET_EXEC,
        .e_machine = MACHINE,
        .e_version = EV_CURRENT,
        .e_shoff = sizeof header + padded,
        .e_flags = FLAGS | (waits ? WAITS : 0),
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = FAKE_IS_HIP ? 3 : 2,
    };
    Elf64_Shdr section = {
        .sh_type = SHT_PROGBITS,
        .sh_offset = sizeof header,
        .sh_size = size,
        .sh_addralign = 16,
    };
    memcpy(image, &header, sizeof header);
    memcpy(image + sizeof header, payload, size);
    memcpy(image + header.e_shoff + sizeof section, &section, sizeof section);
    if (FAKE_IS_HIP) {
        Elf64_Shdr notes = {
            .sh_type = SHT_NOTE,
            .sh_offset = total + sizeof notes,
            .sh_size = note.length,
        };
        memcpy(image + total, &notes, sizeof notes);
        memcpy(image + notes.sh_offset, note.data, note.length);
        total += sizeof notes + note.length;
        text_finish(&note);
    }
    *out_size = total;
    return image;
}

void *fake_cubin(const void *payload, size_t size, bool waits,
                 size_t *out_size)
{
    struct {
        char magic[8];
        uint64_t kernels, count;
    } native = {"", 0, 0};
    if (size == sizeof native)
        memcpy(&native, payload, sizeof native);
    bool is = memcmp(native.magic, "FAKENATV", 8) == 0;
    return make(payload, size, waits,
                is ? (const struct fake_kernel *)native.kernels : NULL,
                is ? native.count : 0, out_size);
}

void *fake_code_object(const void *payload, size_t size,
                       const struct fake_kernel *kernels, size_t count,
                       size_t *out_size)
{
    return make(payload, size, false, kernels, count, out_size);
}

bool fake_image_waits(const void *image)
{
    Elf64_Ehdr header;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&header, image, sizeof header);
    return header.e_flags & WAITS;
}

char *fake_ptx(const char *head, const void *payload, size_t size)
{
    const unsigned char *bytes = payload;
    size_t lines = (size + LINE_BYTES - 1) / LINE_BYTES;
    size_t head_size = strlen(head);
    char *text = malloc(head_size + 1 + size * 2 + lines * sizeof mark);
    if (!text)
        return NULL;
    memcpy(text, head, head_size);
    char *at = text + head_size;
    for (size_t i = 0; i < size; i++) {
        if (i % LINE_BYTES == 0) {
            memcpy(at, mark, sizeof mark - 1);
            at += sizeof mark - 1;
        }
        *at++ = hex[bytes[i] >> 4];
        *at++ = hex[bytes[i] & 15];
        if (i + 1 == size || (i + 1) % LINE_BYTES == 0)
            *at++ = '\n';
    }
    *at = '\0';
    return text;
}

// --- Taking them apart ----------------------------------------------------

static void *copy_of(const void *bytes, size_t size, size_t *out_size,
                     int *out_code)
{
    void *copy = malloc(size ? size : 1);
    *out_code = copy ? FAKE_OK : FAKE_OUT_OF_MEMORY;
    if (copy)
        memcpy(copy, bytes, size);
    *out_size = size;
    return copy;
}

static void *from_elf(const unsigned char *image, size_t *out_size,
                      int *out_code)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    memcpy(&header, image, sizeof header);
    *out_code = FAKE_INVALID_IMAGE;
    if (header.e_machine != MACHINE || header.e_shnum < 2 ||
        header.e_shentsize != sizeof section || header.e_shoff > 1u << 30)
        return NULL;
    memcpy(&section, image + header.e_shoff + sizeof section, sizeof section);
    if (section.sh_offset != sizeof header ||
        section.sh_size > header.e_shoff - sizeof header)
        return NULL;
    return copy_of(image + sizeof header, section.sh_size, out_size, out_code);
}

static int digit_of(char letter)
{
    const char *at = letter ? strchr(hex, letter) : NULL;
    return at ? (int)(at - hex) : -1;
}

static size_t line_read(const char *line, unsigned char *out)
{
    size_t count = 0;
    for (; digit_of(line[0]) >= 0 && digit_of(line[1]) >= 0; line += 2)
        out[count++] = (unsigned char)(digit_of(line[0]) << 4 |
                                       digit_of(line[1]));
    return count;
}

static void *from_ptx(const char *text, size_t *out_size, int *out_code)
{
    *out_code = FAKE_INVALID_PTX;
    const char *line = strstr(text, mark);
    if (strstr(text, ".extern .func cudaGraphSetConditional"))
        return fake_condition_kernel(out_size, out_code);
    if (!strstr(text, ".version") || !line)
        return NULL;
    unsigned char *bytes = malloc(strlen(line) / 2 + 1);
    *out_code = bytes ? FAKE_OK : FAKE_OUT_OF_MEMORY;
    *out_size = 0;
    for (; bytes && line; line = strstr(line + 1, mark))
        *out_size += line_read(line + sizeof mark - 1, bytes + *out_size);
    return bytes;
}

// A fatbin: its header, then one image.
static const void *unwrap(const void *image)
{
    struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
    } header;
    memcpy(&header, image, sizeof(uint32_t));
    if (header.magic != 0xba55ed50u)
        return image;
    memcpy(&header, image, sizeof header);
    return (const char *)image + header.header_size;
}

void *fake_payload(const void *image, size_t *out_size, int *out_code)
{
    const void *inside = unwrap(image);
    if (memcmp(inside, ELFMAG, SELFMAG) == 0)
        return from_elf(inside, out_size, out_code);
    if (strncmp(inside, "//", 2) == 0 || strncmp(inside, ".version", 8) == 0 ||
        strstr(inside, ".version"))
        return from_ptx(inside, out_size, out_code);
    *out_code = FAKE_INVALID_IMAGE;
    return NULL;
}
