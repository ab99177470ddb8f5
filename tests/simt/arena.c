// Maps and sets.
#include "parse.h"

RNL_TEST(maps_keep_what_they_are_given)
{
    static char keys[1000 * 16];
    struct map map = {0};
    assert_null(map_get(&map, keys));
    for (size_t i = 0; i < 1000; i++)
        map_set(&map, &keys[16 * i], &keys[i]);
    for (size_t i = 0; i < 1000; i++)
        assert_ptr_equal(map_get(&map, &keys[16 * i]), &keys[i]);
    assert_null(map_get(&map, &keys[8]));
    map_set(&map, &keys[0], &keys[5]);
    assert_ptr_equal(map_get(&map, &keys[0]), &keys[5]);
    assert_int_equal(map.count, 1000);
    map_clear(&map);
    assert_int_equal(map.count, 0);
    for (size_t i = 0; i < 1000; i++)
        assert_null(map_get(&map, &keys[16 * i]));
}

RNL_TEST(sets_tell_when_they_change)
{
    struct set set = set_create(130), other = set_create(130);
    assert_true(set_add(&set, 0));
    assert_true(set_add(&set, 129));
    assert_false(set_add(&set, 129));
    assert_true(set_has(&set, 129));
    assert_false(set_has(&set, 64));
    assert_int_equal(set_count(&set), 2);
    set_add(&other, 64);
    assert_true(set_unite(&set, &other));
    assert_false(set_unite(&set, &other));
    assert_int_equal(set_count(&set), 3);
    struct set copy = set_copy(&set);
    set_remove(&copy, 64);
    assert_true(set_has(&set, 64));
    assert_true(set_intersect(&set, &other));
    assert_false(set_intersect(&set, &other));
    assert_int_equal(set_count(&set), 1);
    set_fill(&set);
    assert_int_equal(set_count(&set), 130);
}

RNL_TEST(lists_grow_by_one)
{
    int *items = NULL;
    for (int i = 0; i < 100; i++) {
        items = simt_grow(items, (size_t)i, sizeof *items);
        items[i] = i;
    }
    for (int i = 0; i < 100; i++)
        assert_int_equal(items[i], i);
}
