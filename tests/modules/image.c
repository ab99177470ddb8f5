// Binaries with a table in front, and what vendors' images look like: only
// whole ones are taken.
#include "backends/cudalike/driver/image.h"
#include "base/alloc.h"
#include "test.h"


#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const struct image_vendor vendor = {190, 0xBA55ED50, ".version"};

struct bytes {
    unsigned char *data;
    size_t size;
};

static struct bytes make(void)
{
    struct image_maker maker = {0};
    struct bytes made;
    void *data;
    image_add(&maker, IMAGE_VARIABLE, NULL, "counter");
    image_add(&maker, IMAGE_KERNEL, NULL, "_Z5scalePfi");
    image_add_typed(&maker);
    image_add_parameter(&maker, RNL_VALUE_POINTER, 8, 8);
    image_add_parameter(&maker, RNL_VALUE_INTEGER, 4, 4);
    image_add(&maker, IMAGE_KERNEL, NULL, "_Z3putILi7EEvPi");
    image_add_typed(&maker);
    image_add_parameter(&maker, RNL_VALUE_UNKNOWN, 8, 8);
    image_add(&maker, IMAGE_KERNEL, NULL, "_Z3putILi8EEvPi");
    image_add_alias(&maker, "put<7>", "_Z3putILi7EEvPi");
    image_add_alias(&maker, "scale", "_Z5scalePfi");
    image_add_alias(&maker, "&a::inner", "_ZN1a5innerE");
    assert_true(image_finish(&maker, ".version 1\n", 12, &data, &made.size));
    made.data = data;
    return made;
}

static void drop(struct bytes bytes)
{
    mem_release(bytes.data, bytes.size);
    assert_int_equal(mem_held(), 0);
}

static struct image_item find(const struct image *image, enum image_kind kind,
                              const char *name)
{
    struct image_item item;
    assert_true(image_find(image, kind, name, &item));
    return item;
}

RNL_TEST(what_is_stored_is_read)
{
    struct bytes made = make();
    struct image image;
    struct image_item item;
    assert_true(image_is_stored(made.data, made.size));
    assert_null(image_open(made.data, made.size, &image));
    assert_int_equal(image.vendor_size, 12);
    assert_string_equal(image.vendor, ".version 1\n");
    item = find(&image, IMAGE_KERNEL, "scale");
    assert_string_equal(item.symbol, "_Z5scalePfi");
    assert_true(item.typed);
    assert_int_equal(item.parameter_count, 2);
    rnl_parameter parameter = image_parameter(&image, &item, 1);
    assert_int_equal(parameter.kind, RNL_VALUE_INTEGER);
    assert_int_equal(parameter.size, 4);
    assert_int_equal(parameter.alignment, 4);
    assert_string_equal(parameter.type, "");
    item = find(&image, IMAGE_VARIABLE, "&a::inner");
    assert_string_equal(item.symbol, "_ZN1a5innerE");
    assert_false(image_find(&image, IMAGE_KERNEL, "counter", &item));
    assert_false(image_find(&image, IMAGE_VARIABLE, "scale", &item));
    drop(made);
}

RNL_TEST(another_name_has_the_same_parameters)
{
    struct bytes made = make();
    struct image image;
    assert_null(image_open(made.data, made.size, &image));
    struct image_item item = find(&image, IMAGE_KERNEL, "put<7>");
    assert_string_equal(item.symbol, "_Z3putILi7EEvPi");
    assert_true(item.typed);
    assert_int_equal(item.parameter_count, 1);
    // Also by its symbol; and what has no other name is called so.
    item = find(&image, IMAGE_KERNEL, "_Z3putILi7EEvPi");
    assert_string_equal(item.symbol, "_Z3putILi7EEvPi");
    item = find(&image, IMAGE_KERNEL, "_Z3putILi8EEvPi");
    assert_string_equal(item.name, "_Z3putILi8EEvPi");
    assert_false(item.typed);
    drop(made);
}

RNL_TEST(a_name_is_listed_once)
{
    static const char *const names[] = {"counter", "scale", "",
                                        "_Z3putILi8EEvPi", "put<7>",
                                        "&a::inner"};
    struct bytes made = make();
    struct image image;
    struct image_item item;
    assert_null(image_open(made.data, made.size, &image));
    for (size_t i = 0; i < 6; i++) {
        assert_true(image_item(&image, i, &item));
        assert_string_equal(item.name, names[i]);
    }
    assert_false(image_item(&image, 6, &item));
    drop(made);
}

RNL_TEST(an_empty_table_is_a_table)
{
    struct image_maker maker = {0};
    struct image image;
    struct image_item item;
    void *data;
    size_t size;
    assert_true(image_finish(&maker, NULL, 0, &data, &size));
    assert_null(image_open(data, size, &image));
    assert_int_equal(image.vendor_size, 0);
    assert_false(image_item(&image, 0, &item));
    assert_false(image_find(&image, IMAGE_KERNEL, "f", &item));
    mem_release(data, size);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(a_parameter_that_cannot_be_leaves_the_kernel_untyped)
{
    static const struct {
        rnl_value_kind kind;
        uint64_t size, alignment;
    } rows[] = {
        {RNL_VALUE_POINTER, 4, 4},        {RNL_VALUE_INTEGER, 3, 1},
        {RNL_VALUE_FLOAT, 2, 2},          {RNL_VALUE_STRUCT, 0, 1},
        {RNL_VALUE_STRUCT, 1 << 17, 1},   {RNL_VALUE_STRUCT, UINT64_MAX, 1},
        {RNL_VALUE_STRUCT, 16, 3},        {(rnl_value_kind)9, 4, 4},
        {RNL_VALUE_INTEGER, 4, UINT64_MAX - 7},
    };
    struct image_maker maker = {0};
    struct image image;
    struct image_item item;
    void *data;
    size_t size, count = sizeof rows / sizeof rows[0];
    for (size_t i = 0; i < count; i++) {
        image_add(&maker, IMAGE_KERNEL, NULL, "f");
        image_add_typed(&maker);
        image_add_parameter(&maker, RNL_VALUE_INTEGER, 4, 4);
        image_add_parameter(&maker, rows[i].kind, rows[i].size,
                            rows[i].alignment);
        image_add_parameter(&maker, RNL_VALUE_INTEGER, 4, 4);
    }
    assert_true(image_finish(&maker, "", 0, &data, &size));
    assert_null(image_open(data, size, &image));
    for (size_t i = 0; image_item(&image, i, &item); i++)
        if (i != count - 1)
            assert_false(item.typed);
    mem_release(data, size);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(every_length_but_the_whole_is_refused)
{
    struct bytes made = make();
    struct image image;
    for (size_t size = 0; size < made.size; size++) {
        // A block of its own, so that a sanitizer sees what is read behind it.
        void *part = malloc(size ? size : 1);
        assert_non_null(part);
        memcpy(part, made.data, size);
        assert_non_null(image_open(part, size, &image));
        free(part);
    }
    drop(made);
}

RNL_TEST(every_changed_bit_is_seen)
{
    struct bytes made = make();
    struct image image;
    for (size_t bit = 0; bit < made.size * 8; bit++) {
        made.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (image_is_stored(made.data, made.size))
            assert_non_null(image_open(made.data, made.size, &image));
        made.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_null(image_open(made.data, made.size, &image));
    drop(made);
}

// A checksum is no signature: with a right one, the table is checked.
RNL_TEST(a_table_of_lies_is_survived)
{
    static const uint32_t values[] = {1, 7, 0x10000, 0x7fffffff, 0xffffffff};
    struct bytes made = make();
    struct image image;
    struct image_item item;
    size_t opened = 0;
    for (size_t at = 24; at + 4 <= made.size; at += 4)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            unsigned char *copy = malloc(made.size);
            assert_non_null(copy);
            memcpy(copy, made.data, made.size);
            memcpy(copy + at, &values[i], 4);
            image_seal(copy, made.size);
            if (!image_open(copy, made.size, &image)) {
                opened++;
                for (size_t j = 0; image_item(&image, j, &item); j++) {
                    assert_true(strlen(item.name) < made.size);
                    assert_true(item.symbol[0] != '\0');
                    for (size_t k = 0; k < item.parameter_count; k++)
                        assert_true(image_parameter(&image, &item, k).size > 0);
                }
            }
            free(copy);
        }
    assert_true(opened > 0);  // changed names are no lies
    drop(made);
}

RNL_TEST(names_are_read_from_symbols)
{
    static const struct {
        const char *symbol, *name;
    } rows[] = {
        {"plain", "plain"},
        {"_Z5scalePfi", "scale"},
        {"_Z5scalev", "scale"},
        {"_ZL6hiddenPi", "hidden"},
        {"_ZN1a1b6kernelEPiPKii", "a::b::kernel"},
        {"_ZN12_GLOBAL__N_17unnamedEPi", "unnamed"},
        {"_ZN1c5innerE", "c::inner"},
        {"_Z5scaleIfEvPT_S0_", NULL},
        {"_ZN1a5scaleIfEEvPT_", NULL},
        {"_ZN1a1bILi3EE6kernelEv", NULL},
        {"_Z", NULL},
        {"_Z5scal", NULL},
        {"_Z0", NULL},
        {"_Z99999999999999999999999999scale", NULL},
        {"_ZN", NULL},
        {"_ZN1a", NULL},
        {"_ZNK1a1bEv", NULL},
        {"_Zplmi", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[64];
        bool read = image_plain_name(rows[i].symbol, name, sizeof name);
        assert_int_equal(read, rows[i].name != NULL);
        if (read)
            assert_string_equal(name, rows[i].name);
    }
    char small[4];
    assert_false(image_plain_name("_Z5scalePfi", small, sizeof small));
    assert_false(image_plain_name("plain", small, sizeof small));
}

// --- Vendors' images ---------------------------------------------------------

static const char *fault(const void *data, size_t size)
{
    enum image_form form;
    return image_vendor_fault(&vendor, data, size, &form);
}

struct small_elf {
    Elf64_Ehdr header;
    Elf64_Shdr sections[2];
    char text[16];
};

static struct small_elf make_elf(void)
{
    struct small_elf elf = {.text = "code"};
    memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
    elf.header.e_ident[EI_CLASS] = ELFCLASS64;
    elf.header.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.header.e_machine = 190;
    elf.header.e_shoff = offsetof(struct small_elf, sections);
    elf.header.e_shentsize = sizeof(Elf64_Shdr);
    elf.header.e_shnum = 2;
    elf.sections[1].sh_type = SHT_PROGBITS;
    elf.sections[1].sh_offset = offsetof(struct small_elf, text);
    elf.sections[1].sh_size = sizeof elf.text;
    return elf;
}

RNL_TEST(an_elf_file_must_be_whole_and_of_the_machine)
{
    struct small_elf elf = make_elf();
    enum image_form form;
    assert_null(image_vendor_fault(&vendor, &elf, sizeof elf, &form));
    assert_int_equal(form, IMAGE_ELF);
    for (size_t size = 0; size < sizeof elf; size++)
        assert_non_null(fault(&elf, size));
    elf.header.e_machine = EM_X86_64;
    assert_non_null(strstr(fault(&elf, sizeof elf), "another kind"));
    elf = make_elf();
    elf.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_non_null(fault(&elf, sizeof elf));
    elf = make_elf();
    elf.header.e_shentsize = 1;
    assert_non_null(fault(&elf, sizeof elf));
    elf = make_elf();
    elf.header.e_shoff = UINT64_MAX - 8;
    assert_non_null(fault(&elf, sizeof elf));
    elf = make_elf();
    elf.header.e_phnum = 60000;
    assert_non_null(fault(&elf, sizeof elf));
    elf = make_elf();
    elf.sections[1].sh_size = UINT64_MAX;
    assert_non_null(fault(&elf, sizeof elf));
    elf.sections[1].sh_type = SHT_NOBITS;
    assert_null(fault(&elf, sizeof elf));
    elf.header.e_shnum = 0;
    assert_non_null(fault(&elf, sizeof elf));
}

RNL_TEST(a_fatbin_must_be_whole)
{
    struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
        char data[8];
    } fatbin = {0xBA55ED50, 1, 16, 8, ""};
    enum image_form form;
    assert_null(image_vendor_fault(&vendor, &fatbin, sizeof fatbin, &form));
    assert_int_equal(form, IMAGE_FATBIN);
    for (size_t size = 0; size < sizeof fatbin; size++)
        assert_non_null(fault(&fatbin, size));
    fatbin.size = UINT64_MAX;
    assert_non_null(fault(&fatbin, sizeof fatbin));
    fatbin.size = 0;
    assert_non_null(fault(&fatbin, sizeof fatbin));
    fatbin.size = 8;
    fatbin.header_size = 4;
    assert_non_null(fault(&fatbin, sizeof fatbin));
}

RNL_TEST(assembly_starts_with_its_directive)
{
    static const char good[] = "// a\n/* b\n */ \n.version 9.0\n.target x\n";
    static const char *const bad[] = {
        "", " ", "//", "/", "/*", "/* .version", "// .version", "version 9",
        ".versio", "hello", "#include <stdio.h>", ".target sm_90\n.version 9"};
    enum image_form form;
    assert_null(image_vendor_fault(&vendor, good, sizeof good, &form));
    assert_int_equal(form, IMAGE_ASSEMBLY);
    assert_null(fault(good, sizeof good - 1));
    assert_null(fault(".version", 8));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_non_null(fault(bad[i], strlen(bad[i])));
    // Text with something behind its end is none.
    assert_non_null(fault(".version 9.0\0more", 17));
    assert_null(fault(".version 9.0\0\0\0", 15));
}
