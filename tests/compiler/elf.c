// Objects of a compiler that are damaged: nothing in them is trusted.
#include "object/object.h"
#include "test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text file;

static Elf64_Ehdr *header(void)
{
    return (Elf64_Ehdr *)file.data;
}

static Elf64_Shdr *section(size_t index)
{
    return (Elf64_Shdr *)(file.data + header()->e_shoff) + index;
}

static Elf64_Shdr *section_of(uint32_t type)
{
    for (size_t i = 0; i < header()->e_shnum; i++)
        if (section(i)->sh_type == type)
            return section(i);
    fail_msg("there is no section of type %u", type);
    return NULL;
}

static Elf64_Sym *symbol(const char *name)
{
    const Elf64_Shdr *symbols = section_of(SHT_SYMTAB);
    const char *strings = file.data + section(symbols->sh_link)->sh_offset;
    Elf64_Sym *all = (Elf64_Sym *)(file.data + symbols->sh_offset);
    for (size_t i = 0; i < symbols->sh_size / sizeof *all; i++)
        if (strcmp(strings + all[i].st_name, name) == 0)
            return &all[i];
    fail_msg("there is no symbol %s", name);
    return NULL;
}

// The object as a compiler made it.
static void begin(void)
{
    text_free(&file);
    assert_true(text_read_file(&file, OBJECT));
}

// A copy that ends where its memory does.
static bool is_read(size_t size)
{
    struct elf_unit unit = {0};
    struct text exact = {malloc(size + 1), size, size + 1};
    memcpy(exact.data, file.data, size);
    bool read = elf_read_unit(&exact, &unit);
    if (read)
        elf_patch(&exact, &unit);
    elf_unit_free(&unit);
    free(exact.data);
    return read;
}

RNL_TEST(a_whole_object_is_read)
{
    struct elf_unit unit = {0};
    begin();
    assert_true(elf_read_unit(&file, &unit));
    assert_int_equal(unit.kernel_count, 1);
    assert_true(unit.kernels[0].has_threads);
    assert_true(unit.constructs);
    assert_int_equal(unit.dynamic.count, 1);
    assert_string_equal(unit.dynamic.items[0], "dynamic");
    elf_unit_free(&unit);
}

RNL_TEST(names_of_sections_have_to_be_there)
{
    begin();
    header()->e_shstrndx = header()->e_shnum;
    assert_false(is_read(file.size));
    begin();
    header()->e_shstrndx = UINT16_MAX;
    assert_false(is_read(file.size));
    begin();
    section(1)->sh_name = UINT32_MAX;  // it has none then
    assert_true(is_read(file.size));
}

RNL_TEST(strings_have_to_end)
{
    begin();
    const Elf64_Shdr *names = section(header()->e_shstrndx);
    file.data[names->sh_offset + names->sh_size - 1] = 'x';
    assert_false(is_read(file.size));
    begin();
    section(header()->e_shstrndx)->sh_size = 0;
    assert_false(is_read(file.size));
}

RNL_TEST(strings_of_symbols_have_to_be_in_the_file)
{
    begin();
    section(section_of(SHT_SYMTAB)->sh_link)->sh_type = SHT_NOBITS;
    assert_false(is_read(file.size));
    begin();
    section_of(SHT_SYMTAB)->sh_link = header()->e_shnum;
    assert_false(is_read(file.size));
}

RNL_TEST(tables_have_to_be_aligned_and_whole)
{
    begin();
    section_of(SHT_SYMTAB)->sh_offset -= 4;
    assert_false(is_read(file.size));
    begin();
    section_of(SHT_RELA)->sh_offset -= 4;
    assert_false(is_read(file.size));
    begin();
    section_of(SHT_RELA)->sh_size -= 1;
    assert_false(is_read(file.size));
    begin();
    header()->e_shoff -= 4;
    assert_false(is_read(file.size));
}

RNL_TEST(a_table_of_kernels_is_not_larger_than_its_section)
{
    begin();
    symbol("rnl_kernels")->st_size = UINT64_MAX;
    assert_false(is_read(file.size));
    begin();
    symbol("rnl_kernels")->st_size *= 2;
    assert_false(is_read(file.size));
    begin();
    symbol("rnl_kernels")->st_shndx = SHN_ABS;
    assert_false(is_read(file.size));
}

RNL_TEST(a_kernel_in_no_section_is_none)
{
    struct elf_unit unit = {0};
    begin();
    symbol("run_XadL_Z5scaleIfEvPT_EEEvP13rnl_cpu_block")->st_shndx = SHN_ABS;
    assert_true(elf_read_unit(&file, &unit));
    assert_int_equal(unit.kernel_count, 0);
    elf_unit_free(&unit);
}

RNL_TEST(segments_have_to_be_in_the_file)
{
    static const uint64_t places[] = {UINT64_MAX, UINT64_MAX - 7, 4};
    struct elf_unit unit = {0};
    begin();
    assert_true(elf_read_unit(&file, &unit));
    assert_true(elf_patch(&file, &unit) || unit.dynamic.count > 0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        header()->e_phoff = places[i];
        header()->e_phnum = 1;
        assert_false(elf_patch(&file, &unit));
    }
    elf_unit_free(&unit);
}

RNL_TEST(no_shortened_object_is_read)
{
    begin();
    for (size_t size = 0; size < file.size; size++)
        assert_false(is_read(size));
}

RNL_TEST(no_changed_byte_does_harm)
{
    begin();
    for (size_t i = 0; i < file.size; i++) {
        const char byte = file.data[i];
        for (unsigned change = 1; change < 256; change = 2 * change + 1) {
            file.data[i] = (char)(byte ^ change);
            is_read(file.size);
        }
        file.data[i] = byte;
    }
    assert_true(is_read(file.size));
}
