#include "backends/cudalike/driver/image.h"

#include "backends/cudalike/timeline/gpu_stream.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#define VERSION 2u
#define COUNT_MAX (1u << 20)
#define PARAMETER_SIZE_MAX (1u << 16)

static const char magic[8] = "RNLIMAGE";

struct image_header {
    char magic[8];
    struct hash128 checksum;  // covers all bytes behind
    uint64_t vendor_size;
    uint32_t version, entry_count, parameter_count, text_size;
    uint64_t waits;
};

struct image_entry {
    uint32_t kind, typed;
    uint32_t name, symbol;  // offsets into the text
    uint32_t first, parameter_count;
};

struct image_parameter {
    uint32_t kind, size, alignment;
};

#define CHECKED_FROM offsetof(struct image_header, vendor_size)

// --- A vendor's image --------------------------------------------------------

static bool within(uint64_t offset, uint64_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

// The driver gets no size and trusts every offset, so a missing end must be
// found here.
static const char *sections_fault(const Elf64_Ehdr *header, const void *data,
                                  size_t size)
{
    if (header->e_shnum > 0 && header->e_shentsize != sizeof(Elf64_Shdr))
        return "its sections are of an unknown form";
    if (!within(header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr),
                size) ||
        !within(header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr),
                size))
        return "its end is missing";
    for (size_t i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section,
               (const char *)data + header->e_shoff + i * sizeof section,
               sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !within(section.sh_offset, section.sh_size, size))
            return "its end is missing";
    }
    return NULL;
}

static const char *elf_fault(const struct image_vendor *vendor,
                             const void *data, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return "it is too short";
    memcpy(&header, data, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return "it is an ELF file of another word size";
    if (header.e_machine != vendor->machine)
        return "it is an ELF file for another kind of processor";
    if (header.e_shnum == 0)
        return "it has no sections";
    return sections_fault(&header, data, size);
}

static const char *fatbin_fault(const void *data, size_t size)
{
    struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
    } header;
    if (size < sizeof header)
        return "it is too short";
    memcpy(&header, data, sizeof header);
    if (header.header_size < sizeof header ||
        !within(header.header_size, header.size, size) || header.size == 0)
        return "its end is missing";
    return NULL;
}

static const char *skip_comment(const char *at, const char *end)
{
    bool line = at[1] == '/';
    for (at += 2; at < end; at++)
        if (line ? *at == '\n' : (at + 1 < end && at[0] == '*' && at[1] == '/'))
            return at + (line ? 1 : 2);
    return end;
}

// The start of the text behind spaces and comments.
static const char *text_start(const char *at, const char *end)
{
    while (at < end) {
        if (isspace((unsigned char)*at))
            at++;
        else if (at + 1 < end && at[0] == '/' && (at[1] == '/' || at[1] == '*'))
            at = skip_comment(at, end);
        else
            break;
    }
    return at;
}

static const char *assembly_fault(const struct image_vendor *vendor,
                                  const char *text, size_t size)
{
    const char *end = text + strnlen(text, size);
    for (const char *at = end; at < text + size; at++)
        if (*at)
            return "it is neither code nor text";
    if (!vendor->assembly)
        return "it is text, which this device does not run";
    size_t length = strlen(vendor->assembly);
    const char *start = text_start(text, end);
    if ((size_t)(end - start) < length ||
        memcmp(start, vendor->assembly, length) != 0)
        return "it does not start as any binary of this device does";
    return NULL;
}

const char *image_vendor_fault(const struct image_vendor *vendor,
                               const void *data, size_t size,
                               enum image_form *out_form)
{
    uint32_t start = 0;
    memcpy(&start, data, size < sizeof start ? size : sizeof start);
    if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) {
        *out_form = IMAGE_ELF;
        return elf_fault(vendor, data, size);
    }
    if (vendor->fatbin_magic && start == vendor->fatbin_magic) {
        *out_form = IMAGE_FATBIN;
        return fatbin_fault(data, size);
    }
    *out_form = IMAGE_ASSEMBLY;
    return assembly_fault(vendor, data, size);
}

// --- Opening -----------------------------------------------------------------

bool image_is_stored(const void *data, size_t size)
{
    return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

static const char *header_fault(const struct image_header *header, size_t size)
{
    if (header->version != VERSION)
        return "it was made by another version of Runnel";
    if (header->entry_count > COUNT_MAX ||
        header->parameter_count > COUNT_MAX || header->vendor_size > size ||
        header->waits > 1)
        return "its counts cannot be";
    return NULL;
}

static bool parameter_is_legal(const struct image_parameter *parameter)
{
    uint32_t size = parameter->size, alignment = parameter->alignment;
    if (size == 0 || size > PARAMETER_SIZE_MAX || (alignment & (alignment - 1)))
        return false;
    switch (parameter->kind) {
    case RNL_VALUE_POINTER:
        return size == 8;
    case RNL_VALUE_INTEGER:
        return size == 1 || size == 2 || size == 4 || size == 8;
    case RNL_VALUE_FLOAT:
        return size == 4 || size == 8;
    default:
        return parameter->kind <= RNL_VALUE_STRUCT;
    }
}

static bool entry_is_legal(const struct image *image,
                           const struct image_entry *entry)
{
    const struct image_header *header = image->header;
    return (entry->kind == IMAGE_KERNEL || entry->kind == IMAGE_VARIABLE) &&
           entry->name < header->text_size && entry->typed <= 1 &&
           entry->symbol < header->text_size && image->text[entry->symbol] &&
           entry->first <= header->parameter_count &&
           entry->parameter_count <= header->parameter_count - entry->first;
}

static const char *table_fault(const struct image *image)
{
    const struct image_header *header = image->header;
    if (header->text_size > 0 && image->text[header->text_size - 1])
        return "its names have no end";
    for (size_t i = 0; i < header->entry_count; i++)
        if (!entry_is_legal(image, &image->entries[i]))
            return "a record of its table cannot be";
    for (size_t i = 0; i < header->parameter_count; i++)
        if (!parameter_is_legal(&image->parameters[i]))
            return "a parameter in its table cannot be";
    return NULL;
}

// Offset of the vendor's image, from the counts.
static size_t vendor_offset(const struct image_header *header)
{
    size_t end = sizeof *header +
                 header->entry_count * sizeof(struct image_entry) +
                 header->parameter_count * sizeof(struct image_parameter) +
                 header->text_size;
    return (end + 15) & ~(size_t)15;
}

static void locate(struct image *image)
{
    const struct image_header *header = image->header;
    image->entries = (const void *)(header + 1);
    image->parameters = (const void *)(image->entries + header->entry_count);
    image->text = (const char *)(image->parameters + header->parameter_count);
    image->vendor = (const char *)header + vendor_offset(header);
    image->vendor_size = header->vendor_size;
}

const char *image_open(const void *data, size_t size, struct image *out_image)
{
    struct image image = {.header = data};
    if (size < sizeof *image.header || !image_is_stored(data, size))
        return "it is too short";
    struct hash128 hash =
        hash_128((const char *)data + CHECKED_FROM, size - CHECKED_FROM);
    if (hash.low != image.header->checksum.low ||
        hash.high != image.header->checksum.high)
        return "its checksum does not fit: it is damaged";
    const char *fault = header_fault(image.header, size);
    if (fault)
        return fault;
    if (vendor_offset(image.header) + image.header->vendor_size != size)
        return "its size is not what it says";
    locate(&image);
    fault = table_fault(&image);
    if (!fault)
        *out_image = image;
    return fault;
}

// --- Reading -----------------------------------------------------------------

bool image_waits(const struct image *image)
{
    return image->header && image->header->waits;
}

bool image_item(const struct image *image, size_t index,
                struct image_item *out_item)
{
    if (!image->header || index >= image->header->entry_count)
        return false;
    const struct image_entry *entry = &image->entries[index];
    *out_item = (struct image_item){
        .kind = (enum image_kind)entry->kind,
        .name = image->text + entry->name,
        .symbol = image->text + entry->symbol,
        .typed = entry->typed,
        .first = entry->first,
        .parameter_count = entry->parameter_count,
    };
    return true;
}

// A name as in the source takes precedence over an equal symbol.
bool image_find(const struct image *image, enum image_kind kind,
                const char *name, struct image_item *out_item)
{
    struct image_item item;
    for (size_t i = 0; image_item(image, i, &item); i++)
        if (item.kind == kind && strcmp(item.name, name) == 0) {
            *out_item = item;
            return true;
        }
    for (size_t i = 0; image_item(image, i, &item); i++)
        if (item.kind == kind && strcmp(item.symbol, name) == 0) {
            *out_item = item;
            return true;
        }
    return false;
}

rnl_parameter image_parameter(const struct image *image,
                              const struct image_item *item, size_t index)
{
    const struct image_parameter *from =
        &image->parameters[item->first + index];
    return (rnl_parameter){
        .kind = (rnl_value_kind)from->kind,
        .size = from->size,
        .alignment = from->alignment,
        .type = "",
    };
}

// --- Making ------------------------------------------------------------------

static uint32_t add_text(struct image_maker *maker, const char *text)
{
    uint32_t at = (uint32_t)maker->text.length;
    text_add_bytes(&maker->text, text, strlen(text) + 1);
    return at;
}

static struct image_entry *entry_at(struct image_maker *maker, uint32_t index)
{
    return (struct image_entry *)maker->entries.data + index;
}

static bool has_failed(const struct image_maker *maker)
{
    return maker->failed || maker->entries.failed ||
           maker->parameters.failed || maker->text.failed ||
           maker->text.length > UINT32_MAX / 2 ||
           maker->entry_count >= COUNT_MAX ||
           maker->parameter_count >= COUNT_MAX;
}

static void add_entry(struct image_maker *maker, const char *name,
                      const char *symbol, struct image_entry entry)
{
    if ((maker->failed = has_failed(maker)))
        return;
    entry.name = add_text(maker, name);
    entry.symbol = add_text(maker, symbol);
    text_add_bytes(&maker->entries, &entry, sizeof entry);
    maker->failed = has_failed(maker);
    maker->entry_count += !maker->failed;
}

void image_add(struct image_maker *maker, enum image_kind kind,
               const char *name, const char *symbol)
{
    char plain[1024];
    if (!name)
        name = image_plain_name(symbol, plain, sizeof plain) ? plain : "";
    add_entry(maker, name, symbol,
              (struct image_entry){.kind = (uint32_t)kind,
                                   .first = maker->parameter_count});
}

void image_add_typed(struct image_maker *maker)
{
    if (!maker->failed && maker->entry_count > 0)
        entry_at(maker, maker->entry_count - 1)->typed = 1;
}

void image_add_parameter(struct image_maker *maker, rnl_value_kind kind,
                         uint64_t size, uint64_t alignment)
{
    if (maker->failed || maker->entry_count == 0)
        return;
    struct image_entry *entry = entry_at(maker, maker->entry_count - 1);
    struct image_parameter parameter = {
        .kind = (uint32_t)kind,
        .size = size > UINT32_MAX ? 0 : (uint32_t)size,
        .alignment = alignment > UINT32_MAX ? 1 : (uint32_t)alignment,
    };
    if (!entry->typed || !parameter_is_legal(&parameter)) {
        entry->typed = 0;
        return;
    }
    text_add_bytes(&maker->parameters, &parameter, sizeof parameter);
    maker->failed = has_failed(maker);
    if (maker->failed)
        return;
    maker->parameter_count++;
    entry->parameter_count++;
}

void image_add_alias(struct image_maker *maker, const char *name,
                     const char *symbol)
{
    struct image_entry copy = {.kind = IMAGE_VARIABLE};
    for (uint32_t i = 0; !maker->failed && i < maker->entry_count; i++) {
        const struct image_entry *entry = entry_at(maker, i);
        const char *text = maker->text.data;
        if (strcmp(text + entry->symbol, symbol) != 0)
            continue;
        if (strcmp(text + entry->name, name) == 0)
            return;
        copy = *entry;
    }
    add_entry(maker, name, symbol, copy);
}

void image_abandon(struct image_maker *maker)
{
    text_finish(&maker->entries);
    text_finish(&maker->parameters);
    text_finish(&maker->text);
    *maker = (struct image_maker){0};
}

static void *put(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
    return (char *)to + size;
}

static bool has_other_name(struct image_maker *maker, uint32_t index)
{
    const char *text = maker->text.data;
    const char *symbol = text + entry_at(maker, index)->symbol;
    for (uint32_t i = 0; i < maker->entry_count; i++)
        if (i != index && text[entry_at(maker, i)->name] &&
            strcmp(text + entry_at(maker, i)->symbol, symbol) == 0)
            return true;
    return false;
}

// An entry without a name gets the name of its symbol, unless another entry
// names the symbol.
static void name_all(struct image_maker *maker)
{
    for (uint32_t i = 0; !maker->failed && i < maker->entry_count; i++) {
        struct image_entry *entry = entry_at(maker, i);
        if (!maker->text.data[entry->name] && !has_other_name(maker, i))
            entry->name = entry->symbol;
    }
}

void image_seal(void *data, size_t size)
{
    struct hash128 checksum =
        hash_128((char *)data + CHECKED_FROM, size - CHECKED_FROM);
    memcpy((char *)data + offsetof(struct image_header, checksum), &checksum,
           sizeof checksum);
}

bool image_finish(struct image_maker *maker, const void *vendor, size_t size,
                  void **out_data, size_t *out_size)
{
    name_all(maker);
    struct image_header header = {
        .vendor_size = size,
        .version = VERSION,
        .entry_count = maker->entry_count,
        .parameter_count = maker->parameter_count,
        .text_size = (uint32_t)maker->text.length,
        .waits = maker->waits,
    };
    memcpy(header.magic, magic, sizeof magic);
    size_t offset = vendor_offset(&header);
    char *data = maker->failed ? NULL : mem_allocate(offset + size);
    if (data) {
        void *at = put(data, &header, sizeof header);
        at = put(at, maker->entries.data, maker->entries.length);
        at = put(at, maker->parameters.data, maker->parameters.length);
        put(at, maker->text.data, maker->text.length);
        put(data + offset, vendor, size);
        image_seal(data, offset + size);
        *out_data = data;
        *out_size = offset + size;
    }
    image_abandon(maker);
    return data != NULL;
}

// --- Names -------------------------------------------------------------------

// Reads "5scale" and moves behind. NULL if the text has another form.
static const char *read_name(const char **symbol, size_t *out_length)
{
    size_t length = 0;
    const char *at = *symbol;
    if (!isdigit((unsigned char)*at))
        return NULL;
    while (isdigit((unsigned char)*at) && length < 4096)
        length = length * 10 + (size_t)(*at++ - '0');
    if (length == 0 || strnlen(at, length) < length)
        return NULL;
    *symbol = at + length;
    *out_length = length;
    return at;
}

// The compiler invents a name for an unnamed namespace and for a file's own
// namespace. The source has no name for either.
static bool is_unnamed(const char *name, size_t length)
{
    static const char prefix[] = "_GLOBAL__N";
    return length >= sizeof prefix - 1 &&
           memcmp(name, prefix, sizeof prefix - 1) == 0;
}

bool image_plain_name(const char *symbol, char *name, size_t size)
{
    size_t length, used = 0;
    name[0] = '\0';
    if (strncmp(symbol, "_Z", 2) != 0)
        return (size_t)snprintf(name, size, "%s", symbol) < size;
    symbol += 2;
    bool nested = *symbol == 'N';
    symbol += nested;
    symbol += *symbol == 'L';  // internal linkage
    do {
        const char *part = read_name(&symbol, &length);
        if (!part)
            return false;
        if (is_unnamed(part, length))
            continue;
        int added = snprintf(name + used, size - used, "%s%.*s",
                             used ? "::" : "", (int)length, part);
        if (added < 0 || (size_t)added >= size - used)
            return false;
        used += (size_t)added;
    } while (nested && *symbol != 'E');
    // The rest is a template's arguments, or the parameters' types.
    return used > 0 && (nested || *symbol != 'I');
}
