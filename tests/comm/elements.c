// Every element by every operation, a count of 0, and what a communicator tells
// of itself.
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

// Every second number has a sign or the top bit. Enough for vector instructions
// to be used, and some more.
enum { COUNT = 150 };

#define ELEMENTS(X)                \
    X(RNL_ELEMENT_INT8, int8_t)    \
    X(RNL_ELEMENT_UINT8, uint8_t)  \
    X(RNL_ELEMENT_INT16, int16_t)  \
    X(RNL_ELEMENT_UINT16, uint16_t) \
    X(RNL_ELEMENT_INT32, int32_t)  \
    X(RNL_ELEMENT_UINT32, uint32_t) \
    X(RNL_ELEMENT_INT64, int64_t)  \
    X(RNL_ELEMENT_UINT64, uint64_t) \
    X(RNL_ELEMENT_FLOAT32, float)  \
    X(RNL_ELEMENT_FLOAT64, double)

// Halves are moved as their bits.
static bool is_unsigned(rnl_element element)
{
    return element == RNL_ELEMENT_UINT8 || element == RNL_ELEMENT_UINT16 ||
           element == RNL_ELEMENT_UINT32 || element == RNL_ELEMENT_UINT64 ||
           element == RNL_ELEMENT_FLOAT16 || element == RNL_ELEMENT_BFLOAT16;
}

static void put(void *array, size_t i, rnl_element element, double value)
{
    switch (element) {
#define PUT(name, type)                  \
    case name:                           \
        ((type *)array)[i] = (type)value; \
        break;
        ELEMENTS(PUT)
#undef PUT
    default:
        ((uint16_t *)array)[i] = (uint16_t)value;
    }
}

static double get(const void *array, size_t i, rnl_element element)
{
    switch (element) {
#define GET(name, type) \
    case name:          \
        return (double)((const type *)array)[i];
        ELEMENTS(GET)
#undef GET
    default:
        return ((const uint16_t *)array)[i];
    }
}

// Element i of rank `of`. Numbers with the top bit are greater than the numbers
// of rank 0, and numbers with a sign are less.
static double number(rnl_element element, int of, size_t i)
{
    double half = 1;
    if (i % 2 == 0 || of == 0)
        return of + 1;
    for (size_t k = 1; k < 8 * rnl_element_size(element); k++)
        half *= 2;
    return is_unsigned(element) ? half : -of;
}

static double combine(rnl_reduction reduction, double a, double b)
{
    switch (reduction) {
    case RNL_REDUCE_SUM:
        return a + b;
    case RNL_REDUCE_PRODUCT:
        return a * b;
    case RNL_REDUCE_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static bool is_order(rnl_reduction reduction)
{
    return reduction == RNL_REDUCE_MIN || reduction == RNL_REDUCE_MAX;
}

// Sums of numbers with the top bit have no room in their element.
static void expect_reduced(const void *array, rnl_element element,
                           rnl_reduction reduction)
{
    size_t step = is_unsigned(element) && !is_order(reduction) ? 2 : 1;
    for (size_t i = 0; i < COUNT; i += step) {
        double expected = number(element, 0, i);
        for (int of = 1; of < size; of++)
            expected =
                combine(reduction, expected, number(element, of, i));
        if (get(array, i, element) != expected)
            fail_msg("rank %d, element %d, reduction %d, number %zu: %g is not "
                     "%g",
                     rank, (int)element, (int)reduction, i,
                     get(array, i, element), expected);
    }
}

// A buffer of `ranks` times COUNT elements, all of which are this rank's.
static rnl_buffer numbers(rnl_element element, int ranks, void **out_array)
{
    rnl_buffer buffer;
    size_t bytes = rnl_element_size(element) * COUNT * (size_t)ranks;
    expect_ok(rnl_buffer_create(context, bytes, NULL, &buffer));
    expect_ok(rnl_buffer_host_pointer(buffer, out_array));
    for (size_t i = 0; i < COUNT * (size_t)ranks; i++)
        put(*out_array, i, element, number(element, rank, i % COUNT));
    return buffer;
}

// When MPICH 4.0 looks for the least or the greatest, it takes numbers without
// sign for numbers with a sign (pmodels/mpich issue 6083).
static bool is_wrong_in_mpi(rnl_element element, rnl_reduction reduction)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    expect_ok(rnl_comm_get_info(comm, &info));
    return is_unsigned(element) && is_order(reduction) &&
           strstr(info.engine_version, "MPICH Version:\t4.0");
}

static void reduce(rnl_element element, rnl_reduction reduction)
{
    void *array, *part;
    rnl_buffer all = numbers(element, size, &array);
    rnl_buffer own = numbers(element, 1, &part);
    expect_ok(rnl_enqueue_all_reduce(
        stream, comm,
        RNL_COMM_DATA(.receive = own, .count = COUNT, .element = element),
        reduction));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_reduced(part, element, reduction);
    memset(part, 0, rnl_element_size(element) * COUNT);
    expect_ok(
        rnl_enqueue_reduce_scatter(stream, comm,
                                   RNL_COMM_DATA(.send = all, .receive = own,
                                                 .count = COUNT,
                                                 .element = element),
                                   reduction));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_reduced(part, element, reduction);
    expect_ok(rnl_buffer_release(own));
    expect_ok(rnl_buffer_release(all));
}

static void refuse(rnl_element element, rnl_reduction reduction)
{
    void *array;
    rnl_buffer buffer = numbers(element, 1, &array);
    expect_refused(ranks_reduce(buffer, element, reduction),
                   RNL_ERROR_UNSUPPORTED, "numbers with a sign");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(every_element_is_reduced_in_every_way)
{
    ranks_begin(NULL);
    for (int reduction = RNL_REDUCE_SUM; reduction <= RNL_REDUCE_MAX;
         reduction++) {
#define REDUCE(name, type)                                \
    if (is_wrong_in_mpi(name, (rnl_reduction)reduction)) \
        refuse(name, (rnl_reduction)reduction);           \
    else                                                  \
        reduce(name, (rnl_reduction)reduction);
        ELEMENTS(REDUCE)
#undef REDUCE
    }
    ranks_end();
}

RNL_TEST(reductions_that_mpi_lacks_are_refused)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(4, &ints);
    for (int reduction = RNL_REDUCE_SUM; reduction <= RNL_REDUCE_MAX;
         reduction++)
        for (int element = RNL_ELEMENT_FLOAT16; element <= RNL_ELEMENT_BFLOAT16;
             element++)
            expect_refused(ranks_reduce(buffer, (rnl_element)element,
                                       (rnl_reduction)reduction),
                           RNL_ERROR_UNSUPPORTED, "MPI does not reduce");
    for (int element = RNL_ELEMENT_INT8; element <= RNL_ELEMENT_FLOAT64;
         element++)
        expect_refused(
            ranks_reduce(buffer, (rnl_element)element, RNL_REDUCE_AVERAGE),
            RNL_ERROR_UNSUPPORTED, "MPI");
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

static void expect_numbers(const void *array, rnl_element element, int of)
{
    for (size_t i = 0; i < COUNT; i++)
        assert_true(get(array, i, element) == number(element, of, i));
}

static void move(rnl_element element)
{
    void *array, *part;
    size_t bytes = rnl_element_size(element) * COUNT;
    rnl_buffer all = numbers(element, size, &array);
    rnl_buffer own = numbers(element, 1, &part);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    const rnl_comm_data data = {sizeof data, own, 0, all, 0, COUNT, element};
    const rnl_comm_data in_place = {sizeof data, NULL, 0, own, 0, COUNT,
                                    element};
    expect_ok(rnl_enqueue_all_gather(stream, comm, &data));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int of = 0; of < size; of++)
        expect_numbers((char *)array + (size_t)of * bytes, element, of);
    expect_ok(rnl_comm_group_begin());
    expect_ok(rnl_enqueue_send(
        stream, comm,
        RNL_COMM_DATA(.send = own, .count = COUNT, .element = element), next));
    expect_ok(rnl_enqueue_receive(
        stream, comm,
        RNL_COMM_DATA(.receive = all, .count = COUNT, .element = element),
        last));
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_enqueue_broadcast(stream, comm, &in_place, size - 1));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_numbers(array, element, last);
    expect_numbers(part, element, size - 1);
    expect_ok(rnl_buffer_release(own));
    expect_ok(rnl_buffer_release(all));
}

RNL_TEST(every_element_is_moved)
{
    ranks_begin(NULL);
    for (int element = RNL_ELEMENT_INT8; element <= RNL_ELEMENT_FLOAT64;
         element++)
        move((rnl_element)element);
    ranks_end();
}

RNL_TEST(a_count_of_0_takes_part_and_writes_nothing)
{
    int *ints, *whole;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    rnl_buffer all = ranks_ints((size_t)size, &whole);
    const rnl_comm_data from = {sizeof from, buffer, 0, NULL, 0, 0,
                                RNL_ELEMENT_INT32};
    const rnl_comm_data to = {sizeof to, NULL, 0, buffer, 0, 0,
                              RNL_ELEMENT_INT32};
    const rnl_comm_data both = {sizeof both, buffer, 0, all, 0, 0,
                                RNL_ELEMENT_INT32};
    const rnl_comm_data scatter = {sizeof scatter, all, 0, buffer, 0, 0,
                                   RNL_ELEMENT_INT32};
    ints[0] = whole[0] = 100 + rank;
    expect_ok(rnl_enqueue_all_reduce(stream, comm, &to, RNL_REDUCE_SUM));
    expect_ok(rnl_enqueue_broadcast(stream, comm, &to, 0));
    expect_ok(
        rnl_enqueue_reduce_scatter(stream, comm, &scatter, RNL_REDUCE_SUM));
    expect_ok(rnl_enqueue_all_gather(stream, comm, &both));
    expect_ok(rnl_comm_group_begin());
    expect_ok(rnl_enqueue_send(stream, comm, &from, (rank + 1) % size));
    expect_ok(
        rnl_enqueue_receive(stream, comm, &to, (rank + size - 1) % size));
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(ints[0], 100 + rank);
    assert_int_equal(whole[0], 100 + rank);
    // The ranks still agree on what comes next.
    ranks_meet(comm);
    expect_ok(rnl_buffer_release(all));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// If a rank does not enqueue such an operation, the other ranks wait for it.
RNL_TEST(a_count_of_0_waits_for_the_other_ranks)
{
    int *ints;
    rnl_comm calm;
    ranks_begin(RNL_COMM_OPTIONS(.timeout_ns = 2 * SECOND));
    expect_ok(rnl_comm_create(context, NULL, &calm));
    rnl_buffer buffer = ranks_ints(1, &ints);
    if (rank != 0) {
        expect_ok(rnl_enqueue_receive(
            stream, comm,
            RNL_COMM_DATA(.receive = buffer, .count = 0,
                          .element = RNL_ELEMENT_INT32),
            0));
        ranks_fails(stream, RNL_ERROR_TIMED_OUT, "receive");
    }
    ranks_meet(calm);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    rnl_stream_reset_and_wait(stream);
    ranks_end();
}

RNL_TEST(a_communicator_tells_of_itself)
{
    char label[] = "named";
    rnl_comm other;
    rnl_comm_info info = {.struct_size = sizeof info};
    ranks_begin(RNL_COMM_OPTIONS(.label = label, .timeout_ns = 7 * SECOND));
    memset(label, 'x', sizeof label - 1);
    expect_ok(rnl_comm_get_info(comm, &info));
    assert_ptr_equal(info.context, context);
    assert_in_range(info.rank, 0, info.size - 1);
    assert_in_range(info.size, 2, 3);
    assert_string_equal(info.engine, "mpi");
    assert_non_null(strstr(
        info.engine_version,
        getenv("OMPI_COMM_WORLD_SIZE") ? "Open MPI" : "MPICH"));
    assert_string_equal(info.label, "named");
    assert_true(info.timeout_ns == 7 * SECOND);
    assert_false(info.aborted);
    expect_ok(rnl_comm_create(context, NULL, &other));
    ranks_meet(other);
    expect_ok(rnl_comm_abort(other));
    expect_ok(rnl_comm_get_info(other, &info));
    assert_true(info.timeout_ns == 600 * SECOND);
    assert_true(info.aborted);
    expect_ok(rnl_comm_release(other));
    ranks_end();
}
