// Finished cpu objects: only whole ones are loaded.
#include "backends/cpu/jit/imports.h"
#include "backends/cpu/jit/object_file.h"
#include "folder.h"
#include "test.h"  // its `fail` would hide ours

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    char *data;
    size_t size;
};

static struct bytes read_elf(void)
{
    struct bytes elf;
    elf.data = test_read(FAKE_OBJECT, &elf.size);
    assert_non_null(elf.data);
    return elf;
}

static struct bytes wrap(struct bytes elf)
{
    void *data;
    struct bytes wrapped;
    assert_ok(object_file_wrap(elf.data, elf.size, &data, &wrapped.size));
    wrapped.data = data;
    return wrapped;
}

static struct bytes read_object(void)
{
    struct bytes elf = read_elf();
    struct bytes wrapped = wrap(elf);
    free(elf.data);
    return wrapped;
}

static void refused(struct bytes object)
{
    struct loaded_object loaded;
    assert_status(object_file_load(object.data, object.size, &loaded),
                  RNL_ERROR_INVALID_BINARY);
}

RNL_TEST(a_whole_object_is_loaded)
{
    struct bytes object = read_object();
    struct loaded_object loaded;
    assert_ok(object_file_load(object.data, object.size, &loaded));
    assert_int_equal(loaded.table->kernel_count, 2);
    assert_string_equal(object_file_kernel(loaded.table, 1)->name,
                        "space::second<int>");
    object_file_unload(&loaded);
    mem_release(object.data, object.size);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(every_load_has_variables_of_its_own)
{
    enum { COUNT = 20 };
    struct bytes object = read_object();
    struct loaded_object loaded[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_ok(object_file_load(object.data, object.size, &loaded[i]));
        int *variable = object_file_global(loaded[i].table, 0)->address;
        assert_int_equal(*variable, 0);
        *variable = i + 1;
    }
    for (int i = 0; i < COUNT; i++) {
        int *variable = object_file_global(loaded[i].table, 0)->address;
        assert_int_equal(*variable, i + 1);
        object_file_unload(&loaded[i]);
    }
    mem_release(object.data, object.size);
}

// Sets bits of the table's `processor`.
static void need_processor(struct bytes elf, uint64_t sets)
{
    const uint64_t magic = RNL_CPU_OBJECT_MAGIC;
    char *table = memmem(elf.data, elf.size, &magic, sizeof magic);
    assert_non_null(table);
    memcpy(table + offsetof(rnl_cpu_object, processor), &sets, sizeof sets);
}

RNL_TEST(an_object_for_another_processor_is_refused)
{
    struct bytes elf = read_elf();
    need_processor(elf, UINT64_MAX);
    struct bytes object = wrap(elf);
    refused(object);
    assert_non_null(strstr(rnl_last_error()->message, "this one lacks "));
    mem_release(object.data, object.size);
    // What no version has known yet.
    need_processor(elf, UINT64_C(1) << 63);
    object = wrap(elf);
    refused(object);
    mem_release(object.data, object.size);
    free(elf.data);
}

RNL_TEST(a_reason_without_an_end_is_refused)
{
    static const char mark[] = "it was made by hand";
    struct bytes elf = read_elf();
    char *reason = memmem(elf.data, elf.size, mark, sizeof mark);
    assert_non_null(reason);
    memset(reason, 'x', RNL_CPU_REASON_SIZE);
    struct bytes object = wrap(elf);
    refused(object);
    assert_non_null(strstr(rnl_last_error()->message, "record is incomplete"));
    mem_release(object.data, object.size);
    free(elf.data);
}

RNL_TEST(records_of_older_objects_have_no_reason)
{
    struct bytes object = read_object();
    struct loaded_object loaded;
    assert_ok(object_file_load(object.data, object.size, &loaded));
    const rnl_cpu_kernel *kernel = object_file_kernel(loaded.table, 0);
    assert_string_equal(object_file_reason(loaded.table, kernel),
                        "it was made by hand");
    rnl_cpu_object older = *loaded.table;
    older.kernel_size = offsetof(rnl_cpu_kernel, reason);
    assert_string_equal(object_file_reason(&older, kernel), "");
    object_file_unload(&loaded);
    mem_release(object.data, object.size);
}

RNL_TEST(no_shortened_object_is_loaded)
{
    struct bytes object = read_object();
    for (size_t size = 0; size < object.size; size += size < 200 ? 1 : 97)
        refused((struct bytes){object.data, size});
    mem_release(object.data, object.size);
}

RNL_TEST(no_flipped_bit_is_loaded)
{
    struct bytes object = read_object();
    for (size_t i = 0; i < object.size; i += i < 200 ? 1 : 61) {
        object.data[i] ^= (char)(1 << i % 8);
        refused(object);
        object.data[i] ^= (char)(1 << i % 8);
    }
    mem_release(object.data, object.size);
}

RNL_TEST(a_bare_elf_file_is_refused_in_words)
{
    struct bytes elf = read_elf();
    refused(elf);
    assert_non_null(strstr(rnl_last_error()->message, "bare ELF"));
    free(elf.data);
}

RNL_TEST(text_is_refused)
{
    char text[] = "this is no object at all, but long enough to be one";
    refused((struct bytes){text, sizeof text});
}

// Wraps what was changed, so that the checksum fits.
static void refused_elf(struct bytes elf)
{
    struct bytes object = wrap(elf);
    refused(object);
    mem_release(object.data, object.size);
}

RNL_TEST(a_shared_object_without_a_table_is_refused)
{
    struct bytes self;
    self.data = test_read("/proc/self/exe", &self.size);
    refused_elf(self);
    free(self.data);
}

RNL_TEST(foreign_elf_files_are_refused)
{
    struct bytes elf = read_elf();
    Elf64_Ehdr *header = (Elf64_Ehdr *)elf.data;
    header->e_machine ^= 0x55;
    refused_elf(elf);
    assert_non_null(strstr(rnl_last_error()->message, "processor"));
    header->e_machine ^= 0x55;
    header->e_type = ET_REL;
    refused_elf(elf);
    header->e_type = ET_DYN;
    header->e_phoff = UINT64_MAX - 8;
    refused_elf(elf);
    header->e_phoff = sizeof *header;
    header->e_phnum = 60000;
    refused_elf(elf);
    header->e_phnum = 0;
    refused_elf(elf);
    free(elf.data);
}

RNL_TEST(a_segment_beyond_the_end_is_refused)
{
    struct bytes elf = read_elf();
    Elf64_Ehdr *header = (Elf64_Ehdr *)elf.data;
    Elf64_Phdr *segments = (Elf64_Phdr *)(elf.data + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr old = segments[i];
        segments[i].p_filesz = elf.size + 1;
        refused_elf(elf);
        segments[i].p_filesz = UINT64_MAX;
        refused_elf(elf);
        segments[i] = old;
    }
    free(elf.data);
}

// The table is found by its magic number and changed in the file.
static rnl_cpu_object *find_table(struct bytes elf)
{
    uint64_t magic = RNL_CPU_OBJECT_MAGIC;
    char *found = memmem(elf.data, elf.size, &magic, sizeof magic);
    assert_non_null(found);
    return (rnl_cpu_object *)(void *)found;
}

RNL_TEST(a_table_of_another_version_is_refused)
{
    struct bytes elf = read_elf();
    rnl_cpu_object *table = find_table(elf);
    table->abi++;
    refused_elf(elf);
    assert_non_null(strstr(rnl_last_error()->message, "version"));
    table->abi--;
    table->kernel_size /= 2;
    refused_elf(elf);
    table->kernel_size *= 2;
    table->magic++;
    refused_elf(elf);
    free(elf.data);
}

// The form is found by the fields before it.
RNL_TEST(a_kernel_without_the_code_of_its_form_is_refused)
{
    struct bytes elf = read_elf();
    uint32_t want[4] = {128, 0, RNL_CPU_KERNEL_WAITS, RNL_CPU_FORM_THREADS};
    char *record = memmem(elf.data, elf.size, want, sizeof want);
    assert_non_null(record);
    want[3] = RNL_CPU_FORM_BLOCKS;
    memcpy(record, want, sizeof want);
    refused_elf(elf);
    assert_non_null(strstr(rnl_last_error()->message, "code is not its own"));
    free(elf.data);
}

RNL_TEST(a_table_that_ends_outside_is_refused)
{
    struct bytes elf = read_elf();
    rnl_cpu_object *table = find_table(elf);
    table->kernel_count = 1u << 30;
    refused_elf(elf);
    table->kernel_count = 2;
    table->global_count = 1u << 30;
    refused_elf(elf);
    free(elf.data);
}

// --- What is not the object's own --------------------------------------------

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

static struct bytes read_foreign(const char *name)
{
    char path[512];
    struct bytes elf;
    snprintf(path, sizeof path, FOREIGN_FOLDER "/foreign_%s.so", name);
    elf.data = test_read(path, &elf.size);
    assert_non_null(elf.data);
    struct bytes object = wrap(elf);
    free(elf.data);
    return object;
}

RNL_TEST(an_object_that_uses_the_hosts_symbols_is_refused)
{
    static const char *const rows[][2] = {
        {"function", "'system'"}, {"weak", "'system'"},
        {"variable", "'environ'"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes object = read_foreign(rows[i][0]);
        refused(object);
        expect_in(rnl_last_error()->message, "does not give to kernels");
        expect_in(rnl_last_error()->message, rows[i][1]);
        expect_in(rnl_last_error()->message, "make it with runnel-cc");
        mem_release(object.data, object.size);
    }
}

RNL_TEST(an_object_that_runs_code_when_loaded_is_refused)
{
    static const char *const names[] = {"constructor", "destructor", "init",
                                        "resolver"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes object = read_foreign(names[i]);
        refused(object);
        expect_in(rnl_last_error()->message, "runs code when it is loaded");
        mem_release(object.data, object.size);
    }
}

RNL_TEST(an_object_that_needs_other_files_is_refused)
{
    static const char *const rows[][3] = {
        {"runpath", "has the loader look elsewhere", "'/absent'"},
        {"library", "needs another library", "'libresolv"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes object = read_foreign(rows[i][0]);
        refused(object);
        expect_in(rnl_last_error()->message, rows[i][1]);
        expect_in(rnl_last_error()->message, rows[i][2]);
        mem_release(object.data, object.size);
    }
}

RNL_TEST(an_object_with_nothing_of_others_is_loaded)
{
    struct bytes object = read_foreign("nothing");
    struct loaded_object loaded;
    assert_ok(object_file_load(object.data, object.size, &loaded));
    object_file_unload(&loaded);
    mem_release(object.data, object.size);
}

// Every byte of the dynamic section wrong in turn: refused or loaded, never a
// crash of the check.
RNL_TEST(a_damaged_dynamic_section_is_read_with_care)
{
    struct bytes elf = read_elf();
    Elf64_Ehdr header;
    memcpy(&header, elf.data, sizeof header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, elf.data + header.e_phoff + i * sizeof segment,
               sizeof segment);
        for (size_t at = 0;
             segment.p_type == PT_DYNAMIC && at < segment.p_filesz; at++) {
            char name[IMPORT_NAME_SIZE], *byte =
                elf.data + segment.p_offset + at;
            char kept = *byte;
            for (int bit = 0; bit < 8; bit++) {
                *byte = (char)(kept ^ 1 << bit);
                imports_fault(elf.data, elf.size, name);
                assert_non_null(memchr(name, 0, sizeof name));
            }
            *byte = kept;
        }
    }
    free(elf.data);
}
