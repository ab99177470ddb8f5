// core/options: structs of every version, in and out.
#include "unit.h"

#include "core/module/function.h"
#include "core/object/check.h"

#include <string.h>

struct sample {
    size_t struct_size;
    uint64_t first, second;
};

struct newer {
    struct sample sample;
    uint64_t third;
};

static rnl_status read(struct sample *out, const void *given)
{
    return options_read(out, sizeof *out, given, "options");
}

RNL_TEST(null_means_all_defaults)
{
    struct sample sample;
    memset(&sample, 0x5a, sizeof sample);
    assert_int_equal(read(&sample, NULL), RNL_OK);
    assert_int_equal(sample.struct_size, sizeof sample);
    assert_int_equal(sample.first, 0);
    assert_int_equal(sample.second, 0);
}

RNL_TEST(an_older_struct_is_read_as_far_as_it_goes)
{
    const struct sample given = {offsetof(struct sample, second), 1, 2};
    struct sample sample;
    assert_int_equal(read(&sample, &given), RNL_OK);
    assert_int_equal(sample.struct_size, sizeof sample);
    assert_int_equal(sample.first, 1);
    assert_int_equal(sample.second, 0);
}

RNL_TEST(a_newer_struct_may_not_ask_for_news)
{
    struct newer given = {{sizeof given, 1, 2}, 0};
    struct sample sample;
    assert_int_equal(read(&sample, &given), RNL_OK);
    assert_int_equal(sample.second, 2);
    given.third = 1;
    assert_int_equal(read(&sample, &given), RNL_ERROR_UNSUPPORTED);
    assert_string_equal(rnl_last_error()->parameter, "options");
}

RNL_TEST(struct_sizes_that_cannot_be_are_refused)
{
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 1 << 24, SIZE_MAX};
    for (int i = 0; i < 5; i++) {
        const struct sample given = {sizes[i], 1, 2};
        struct sample sample;
        assert_int_equal(read(&sample, &given), RNL_ERROR_INVALID_ARGUMENT);
    }
}

RNL_TEST(an_info_is_written_as_far_as_there_is_room)
{
    const struct sample info = {sizeof info, 11, 12};
    struct sample out = {offsetof(struct sample, second), 7, 7};
    assert_int_equal(info_write(&out, &info, sizeof info, "out_info"), RNL_OK);
    assert_int_equal(out.struct_size, offsetof(struct sample, second));
    assert_int_equal(out.first, 11);
    assert_int_equal(out.second, 7);
}

RNL_TEST(an_info_for_a_newer_caller_ends_in_zeros)
{
    const struct sample info = {sizeof info, 11, 12};
    struct newer out = {{sizeof out, 7, 7}, 7};
    assert_int_equal(info_write(&out, &info, sizeof info, "out_info"), RNL_OK);
    assert_int_equal(out.sample.struct_size, sizeof info);
    assert_int_equal(out.sample.second, 12);
    assert_int_equal(out.third, 0);
}

RNL_TEST(an_info_that_is_null_or_absurd_is_refused)
{
    const struct sample info = {sizeof info, 11, 12};
    const size_t sizes[] = {0, 7, 1 << 24, SIZE_MAX};
    assert_int_equal(info_write(NULL, &info, sizeof info, "out_info"),
                     RNL_ERROR_INVALID_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        struct sample out = {sizes[i], 7, 7};
        assert_int_equal(info_write(&out, &info, sizeof info, "out_info"),
                         RNL_ERROR_INVALID_ARGUMENT);
        assert_int_equal(out.first, 7);
        assert_int_equal(out.struct_size, sizes[i]);
    }
}
