// The note has MessagePack: a map with the list "amdhsa.kernels", whose maps
// have ".name" and the list ".args". Every length in it is checked, because a
// binary may come from anywhere.
#include "backends/hip/code_object.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum { NOTE_METADATA = 32, NAME_MOST = 1024 };

// --- MessagePack -------------------------------------------------------------

struct note_reader {
    const unsigned char *at, *end;
    bool failed;
};

enum item_kind { ITEM_OTHER, ITEM_NUMBER, ITEM_TEXT, ITEM_LIST, ITEM_MAP };

struct item {
    enum item_kind kind;
    uint64_t number;         // of a list or map: how many items or pairs
    const char *text;        // does not end in a zero
    size_t length;
};

// A number of `bytes` bytes, the highest first.
static uint64_t take_number(struct note_reader *reader, size_t bytes)
{
    uint64_t number = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    while (bytes-- > 0)
        number = number << 8 | *reader->at++;
    return number;
}

static struct item take_bytes(struct note_reader *reader, enum item_kind kind,
                              uint64_t length)
{
    struct item item = {.kind = kind};
    if (length > (uint64_t)(reader->end - reader->at)) {
        reader->failed = true;
        return item;
    }
    item.text = (const char *)reader->at;
    item.length = (size_t)length;
    reader->at += length;
    return item;
}

static struct item counted(enum item_kind kind, uint64_t number)
{
    return (struct item){.kind = kind, .number = number};
}

// The forms with a byte of their own, from 0xc0 to 0xdf.
static struct item take_long(struct note_reader *reader, unsigned form)
{
    static const unsigned char fixed[] = {2, 3, 5, 9, 17};
    if (form >= 0xc4 && form <= 0xc6)
        return take_bytes(reader, ITEM_OTHER,
                          take_number(reader, (size_t)1 << (form - 0xc4)));
    if (form >= 0xc7 && form <= 0xc9)
        return take_bytes(reader, ITEM_OTHER,
                          take_number(reader, (size_t)1 << (form - 0xc7)) + 1);
    if (form == 0xca || form == 0xcb)
        return take_bytes(reader, ITEM_OTHER, form == 0xca ? 4 : 8);
    if (form >= 0xcc && form <= 0xd3)
        return counted(ITEM_NUMBER,
                       take_number(reader, (size_t)1 << (form & 3)));
    if (form >= 0xd4 && form <= 0xd8)
        return take_bytes(reader, ITEM_OTHER, fixed[form - 0xd4]);
    if (form >= 0xd9 && form <= 0xdb)
        return take_bytes(reader, ITEM_TEXT,
                          take_number(reader, (size_t)1 << (form - 0xd9)));
    if (form == 0xdc || form == 0xdd)
        return counted(ITEM_LIST, take_number(reader, form == 0xdc ? 2 : 4));
    if (form == 0xde || form == 0xdf)
        return counted(ITEM_MAP, take_number(reader, form == 0xde ? 2 : 4));
    return counted(ITEM_OTHER, 0);  // nil, false, true
}

// The next item; of a list or a map only its head.
static struct item take(struct note_reader *reader)
{
    unsigned form = (unsigned)take_number(reader, 1);
    if (form < 0x80 || form >= 0xe0)
        return counted(ITEM_NUMBER, form);
    if (form < 0x90)
        return counted(ITEM_MAP, form & 15);
    if (form < 0xa0)
        return counted(ITEM_LIST, form & 15);
    if (form < 0xc0)
        return take_bytes(reader, ITEM_TEXT, form & 31);
    return take_long(reader, form);
}

static void skip(struct note_reader *reader)
{
    for (uint64_t left = 1; left > 0 && !reader->failed; left--) {
        struct item item = take(reader);
        if (item.kind == ITEM_LIST || item.kind == ITEM_MAP)
            left += item.number << (item.kind == ITEM_MAP);
    }
}

static bool is(const struct item *item, const char *text)
{
    return item->kind == ITEM_TEXT && item->length == strlen(text) &&
           memcmp(item->text, text, item->length) == 0;
}

static bool starts(const struct item *item, const char *text)
{
    return item->kind == ITEM_TEXT && item->length >= strlen(text) &&
           memcmp(item->text, text, strlen(text)) == 0;
}

// How many items or pairs follow; 0 if the next item is something else.
static uint64_t begin(struct note_reader *reader, enum item_kind kind)
{
    struct item item = take(reader);
    if (item.kind != kind)
        reader->failed = true;
    return reader->failed ? 0 : item.number;
}

// --- Kernels -----------------------------------------------------------------

// The largest power of 2 that divides both numbers. The true alignment may be
// smaller, but both give the same offset. The table takes no parameter without
// bytes.
static uint64_t alignment_for(uint64_t size, uint64_t offset)
{
    uint64_t both = size | offset;
    return both & -both;
}

// Small structs look like numbers.
static rnl_value_kind kind_of(const struct item *kind, uint64_t size)
{
    bool number = size <= 8 && (size & (size - 1)) == 0;
    return is(kind, "by_value") && !number ? RNL_VALUE_STRUCT
                                           : RNL_VALUE_UNKNOWN;
}

static void read_parameter(struct note_reader *reader,
                           struct image_maker *maker)
{
    struct item kind = {ITEM_OTHER, 0, NULL, 0};
    uint64_t size = 0, offset = 0;
    for (uint64_t n = begin(reader, ITEM_MAP); n > 0 && !reader->failed; n--) {
        struct item key = take(reader);
        if (is(&key, ".size"))
            size = take(reader).number;
        else if (is(&key, ".offset"))
            offset = take(reader).number;
        else if (is(&key, ".value_kind"))
            kind = take(reader);
        else
            skip(reader);
    }
    // Parameters that the compiler adds for itself are behind all others.
    if (reader->failed || starts(&kind, "hidden_"))
        return;
    if (is(&kind, "global_buffer"))
        image_add_parameter(maker, RNL_VALUE_POINTER, size, 8);
    else
        image_add_parameter(maker, kind_of(&kind, size),
                            is(&kind, "by_value") ? size : 0,
                            alignment_for(size, offset));
}

static void read_kernel(struct note_reader *reader, struct image_maker *maker)
{
    struct note_reader list = {NULL, NULL, true};
    struct item name = {ITEM_OTHER, 0, NULL, 0};
    char symbol[NAME_MOST];
    for (uint64_t n = begin(reader, ITEM_MAP); n > 0 && !reader->failed; n--) {
        struct item key = take(reader);
        if (is(&key, ".name")) {
            name = take(reader);
            continue;
        }
        if (is(&key, ".args"))
            list = *reader;
        skip(reader);
    }
    if (reader->failed || name.kind != ITEM_TEXT || name.length == 0 ||
        name.length >= sizeof symbol || memchr(name.text, 0, name.length))
        return;
    memcpy(symbol, name.text, name.length);
    symbol[name.length] = '\0';
    image_add(maker, IMAGE_KERNEL, NULL, symbol);
    image_add_typed(maker);  // a kernel without parameters has no list
    for (uint64_t n = list.at ? begin(&list, ITEM_LIST) : 0;
         n > 0 && !list.failed; n--)
        read_parameter(&list, maker);
}

static void read_metadata(struct note_reader reader, struct image_maker *maker)
{
    for (uint64_t n = begin(&reader, ITEM_MAP); n > 0 && !reader.failed; n--) {
        struct item key = take(&reader);
        if (!is(&key, "amdhsa.kernels")) {
            skip(&reader);
            continue;
        }
        for (uint64_t k = begin(&reader, ITEM_LIST); k > 0 && !reader.failed;
             k--)
            read_kernel(&reader, maker);
    }
}

// --- Notes -------------------------------------------------------------------

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static void read_notes(const unsigned char *at, size_t size,
                       struct image_maker *maker)
{
    static const char owner[] = "AMDGPU";
    Elf64_Nhdr header;
    while (size >= sizeof header) {
        memcpy(&header, at, sizeof header);
        at += sizeof header, size -= sizeof header;
        size_t name = padded(header.n_namesz);
        if (name > size || header.n_descsz > size - name)
            return;
        if (header.n_type == NOTE_METADATA &&
            header.n_namesz == sizeof owner &&
            memcmp(at, owner, sizeof owner) == 0)
            read_metadata((struct note_reader){at + name,
                                               at + name + header.n_descsz,
                                               false},
                          maker);
        size_t whole = name + padded(header.n_descsz);
        if (whole > size)
            return;
        at += whole, size -= whole;
    }
}

// --- Variables ---------------------------------------------------------------

struct object_part {
    const unsigned char *bytes;
    size_t size;
};

// The bytes of a section; none if they are not all there.
static struct object_part part_of(struct object_part file,
                                  const Elf64_Ehdr *header, size_t index,
                                  Elf64_Shdr *out_section)
{
    memcpy(out_section,
           file.bytes + header->e_shoff + index * sizeof *out_section,
           sizeof *out_section);
    if (out_section->sh_offset > file.size ||
        out_section->sh_size > file.size - out_section->sh_offset)
        return (struct object_part){NULL, 0};
    return (struct object_part){file.bytes + out_section->sh_offset,
                                (size_t)out_section->sh_size};
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), more = strlen(end);
    return length >= more && strcmp(text + length - more, end) == 0;
}

// Objects that a program can find, but for the descriptors of kernels.
static void read_symbols(struct object_part symbols, struct object_part names,
                         struct image_maker *maker)
{
    Elf64_Sym symbol;
    for (size_t at = 0; symbols.size - at >= sizeof symbol;
         at += sizeof symbol) {
        memcpy(&symbol, symbols.bytes + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size)
            continue;
        const char *name = (const char *)names.bytes + symbol.st_name;
        if (memchr(name, 0, names.size - symbol.st_name) && name[0] &&
            strlen(name) < NAME_MOST && !ends_in(name, ".kd"))
            image_add(maker, IMAGE_VARIABLE, NULL, name);
    }
}

void code_object_read(const void *data, size_t size, struct image_maker *maker)
{
    struct object_part file = {data, size};
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof header);
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section, names;
        struct object_part part = part_of(file, &header, i, &section);
        if (!part.bytes)
            continue;
        if (section.sh_type == SHT_NOTE)
            read_notes(part.bytes, part.size, maker);
        if (section.sh_type == SHT_DYNSYM && section.sh_link < header.e_shnum)
            read_symbols(part, part_of(file, &header, section.sh_link, &names),
                         maker);
    }
}
