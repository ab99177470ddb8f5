// Warps of 32 lanes in waves of 64, by the prelude of runnel-hip-cc.
#include "hip_wave.h"
#include "test.h"

RNL_TEST(both_warps_of_a_whole_wave_are_right)
{
    for (unsigned seed = 1; seed < 4; seed++)
        assert_int_equal(wave_check(~UINT64_C(0), seed), 0);
}

RNL_TEST(a_block_may_end_within_a_warp)
{
    assert_int_equal(wave_check(0xffff, 1), 0);
    assert_int_equal(wave_check(0x0000001fffffffffu, 2), 0);
}

RNL_TEST(lanes_that_are_not_active_take_no_part)
{
    assert_int_equal(wave_check(0x7f00ff0155aa3c01u, 1), 0);
    assert_int_equal(wave_check(0x8000000000000001u, 2), 0);
}
