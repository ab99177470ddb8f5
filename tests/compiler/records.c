// Members of structs, and rows: lanes touch nothing before the first and behind
// the last that their threads do.
#include "build.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 64 };

// Which bytes of each struct a kernel touches.
struct touch {
    const char *kernel;
    size_t stride, first, end;
};

static struct built built;
static char *page;  // between two that nobody may touch
static size_t page_size;

// For the processor at hand, and for others that it runs code of.
static const char *const options[] = {
    "",
#if defined(__x86_64__)
    "--option --target=x86-64",
#endif
};

static void begin(const char *more)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    page += page_size;
    assert_int_equal(mprotect(page, page_size, PROT_READ | PROT_WRITE), 0);
    built_kernels(&built, "records.cu", more);
}

static void end(void)
{
    munmap(page - page_size, 3 * page_size);
    built_close(&built);
}

// The structs, of which the first byte touched is the page's first, or the last
// one its last.
static char *at_begin(const struct touch *touch)
{
    return page - touch->first;
}

static char *at_end(const struct touch *touch)
{
    return page + page_size - (THREADS - 1) * touch->stride - touch->end;
}

static void run(const char *kernel, void *out, const void *in, int count)
{
    const void *arguments[] = {&out, &in, &count};
    rnl_status status = built_run(&built, kernel, (rnl_dim3){1, 1, 1},
                                  (rnl_dim3){THREADS, 1, 1}, 0, arguments);
    if (status != RNL_OK)
        fail_msg("%s: %s", kernel, built.failure);
}

// What is read is a sum of members of that many bytes.
static int sum_of(const char *record, const struct touch *touch, size_t size)
{
    int sum = 0;
    for (size_t at = touch->first; at < touch->end; at += size) {
        int member = 0;
        short half;
        memcpy(&member, record + at, size);
        if (size == sizeof half) {
            memcpy(&half, record + at, size);
            member = half;
        }
        sum = (int)((unsigned)sum + (unsigned)member);
    }
    return sum;
}

static void check_read(const struct touch *touch, size_t size, bool elsewhere)
{
    char *places[] = {at_begin(touch), at_end(touch)};
    for (int p = 0; p < 2; p++) {
        int out[THREADS] = {0};
        run(touch->kernel, out, places[p], 0);
        for (int i = 0; i < THREADS; i++) {
            int at = elsewhere ? (i * 5 + 63) & 63 : i;
            assert_int_equal(
                out[i],
                sum_of(places[p] + (size_t)at * touch->stride, touch, size));
        }
    }
}

RNL_TEST(nothing_is_read_around_members)
{
    static const struct {
        struct touch touch;
        size_t size;
        bool elsewhere;
    } cases[] = {
        {{"first_of_four", 16, 0, 4}, 4, false},
        {{"last_of_four", 16, 12, 16}, 4, false},
        {{"middle_of_four", 16, 4, 12}, 4, false},
        {{"all_of_three", 12, 0, 12}, 4, false},
        {{"all_of_three_elsewhere", 12, 0, 12}, 4, true},
        {{"all_of_four_elsewhere", 16, 0, 16}, 4, true},
        {{"all_of_four_of_some", 16, 0, 16}, 4, true},
        {{"two_of_four_elsewhere", 16, 8, 16}, 4, true},
        {{"three_bytes", 3, 0, 3}, 1, false},
        {{"three_bytes_elsewhere", 3, 0, 3}, 1, true},
        {{"second_byte", 4, 1, 2}, 1, false},
        {{"three_of_four_bytes", 4, 0, 3}, 1, true},
        {{"a_word_and_a_half", 6, 0, 6}, 2, false},
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        begin(options[o]);
        for (size_t i = 0; i < page_size; i++)
            page[i] = (char)(i * 37 + i / 256);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            check_read(&cases[i].touch, cases[i].size, cases[i].elsewhere);
        end();
    }
}

static void check_write(const struct touch *touch, bool elsewhere)
{
    char *places[] = {at_begin(touch), at_end(touch)};
    int in[THREADS];
    for (int i = 0; i < THREADS; i++)
        in[i] = sample(i);
    for (int p = 0; p < 2; p++) {
        memset(page, 0x55, page_size);
        run(touch->kernel, places[p], in, 0);
        size_t written = 0;
        for (int i = 0; i < THREADS; i++) {
            int at = elsewhere ? (i * 5 + 63) & 63 : i;
            const char *record = places[p] + (size_t)at * touch->stride;
            for (size_t k = 0; k < (touch->end - touch->first) / 4; k++) {
                int member;
                memcpy(&member, record + touch->first + 4 * k, 4);
                assert_int_equal(member, in[i] + (int)k);
                written += 4;
            }
        }
        size_t changed = 0;
        for (size_t i = 0; i < page_size; i += 4)
            changed += memcmp(page + i, "UUUU", 4) ? 4 : 0;
        assert_int_equal(changed, written);
    }
}

RNL_TEST(nothing_is_written_around_members)
{
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        begin(options[o]);
        check_write(&(struct touch){"write_three", 12, 0, 12}, false);
        check_write(&(struct touch){"write_two_of_four", 16, 4, 12}, false);
        check_write(&(struct touch){"write_two_elsewhere", 16, 4, 12}, true);
        end();
    }
}

// Of so many numbers of a size.
static int sum_of_row(const char *in, size_t size, int count)
{
    int sum = 0;
    for (int k = 0; k < count; k++) {
        int number = (unsigned char)in[(size_t)k * size];
        if (size == sizeof number)
            memcpy(&number, in + (size_t)k * size, size);
        sum = (int)((unsigned)sum + (unsigned)number);
    }
    return sum;
}

// The last row's last number that is added is the page's last.
static void check_rows(const char *kernel, size_t size, int count, bool shorter)
{
    int last = shorter ? count - (THREADS - 1) * count / 64 : count;
    size_t bytes = size * (size_t)((THREADS - 1) * count + last);
    char *places[] = {page, page + page_size - bytes};
    for (int p = 0; p < 2; p++) {
        int out[THREADS] = {0};
        run(kernel, out, places[p], count);
        for (int i = 0; i < THREADS; i++) {
            int added = shorter ? count - i * count / 64 : count;
            const char *row = places[p] + size * (size_t)(i * count);
            assert_int_equal(out[i], sum_of_row(row, size, added));
        }
    }
}

RNL_TEST(nothing_is_read_around_rows)
{
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        begin(options[o]);
        for (size_t i = 0; i < page_size; i++)
            page[i] = (char)(i * 37 + i / 256);
        for (int count = 1; count < 16; count++) {
            check_rows("rows", 4, count, false);
            check_rows("rows_backwards", 4, count, false);
            check_rows("shorter_rows", 4, count, true);
            check_rows("rows_of_bytes", 1, count, false);
        }
        end();
    }
}
