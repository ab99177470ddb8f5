// core/object: handles, generations, references, trimming, fork.
#include "unit.h"

#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Classes of the tests' own, in kinds that nothing else uses in this process.
struct thing {
    struct object object;
    int value;
};

static _Atomic int finished;

static void thing_finish(struct object *object)
{
    (void)object;
    finished++;
}

static struct object_class things = {
    .kind = OBJECT_EVENT, .size = sizeof(struct thing),
    .finish = thing_finish};
static struct object_class others = {
    .kind = OBJECT_BUFFER, .size = sizeof(struct thing) + 64,
    .finish = thing_finish};

static void *create(struct object_class *class)
{
    struct object *object = object_create(class, NULL, NULL);
    assert_non_null(object);
    return object_publish(object);
}

static struct object *find(void *handle, enum object_kind kind)
{
    struct object *object = object_find(handle, kind);
    if (!object) {
        fail_msg("%p is not found", handle);
        abort();  // fail_msg has left by longjmp
    }
    return object;
}

static void release(void *handle, enum object_kind kind)
{
    assert_int_equal(object_release(handle, kind, "thing"), RNL_OK);
}

static void expect_nothing_held(void)
{
    object_trim();
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(an_object_is_found_only_once_published)
{
    struct object *object = object_create(&things, NULL, NULL);
    assert_non_null(object);
    assert_int_equal(object->handle, 0);
    void *handle = object_publish(object);
    assert_ptr_equal(object_find(handle, OBJECT_EVENT), object);
    assert_ptr_equal(object_handle(object), handle);
    release(handle, OBJECT_EVENT);
    assert_null(object_find(handle, OBJECT_EVENT));
    expect_nothing_held();
}

RNL_TEST(a_new_object_is_zeroed_beyond_the_head)
{
    for (int i = 0; i < 200; i++) {
        struct object *object = object_create(&things, NULL, NULL);
        struct thing *thing = (struct thing *)object;
        assert_int_equal(thing->value, 0);
        thing->value = 0x55;
        release(object_publish(object), OBJECT_EVENT);
    }
    expect_nothing_held();
}

RNL_TEST(an_abandoned_object_is_not_finished)
{
    finished = 0;
    struct object *object = object_create(&things, NULL, "label");
    object_abandon(object);
    assert_int_equal(finished, 0);
    expect_nothing_held();
}

RNL_TEST(another_kind_finds_nothing)
{
    void *handle = create(&things);
    for (int kind = OBJECT_NONE; kind < OBJECT_KINDS; kind++)
        assert_int_equal(object_find(handle, (enum object_kind)kind) != NULL,
                         kind == OBJECT_EVENT);
    release(handle, OBJECT_EVENT);
    expect_nothing_held();
}

RNL_TEST(near_misses_find_nothing)
{
    void *handle = create(&things);
    uintptr_t value = (uintptr_t)handle;
    for (int bit = 0; bit < 64; bit++)
        assert_null(object_find((void *)(value ^ (uintptr_t)1 << bit),
                                OBJECT_EVENT));
    release(handle, OBJECT_EVENT);
    expect_nothing_held();
}

RNL_TEST(indexes_outside_the_table_find_nothing)
{
    const uint32_t indexes[] = {OBJECT_CHUNK_SIZE, OBJECT_CHUNK_SIZE - 1,
                                OBJECT_CHUNKS * OBJECT_CHUNK_SIZE - 1,
                                OBJECT_CHUNKS * OBJECT_CHUNK_SIZE,
                                UINT32_MAX};
    for (int i = 0; i < 5; i++) {
        uintptr_t value = (uintptr_t)OBJECT_EVENT << OBJECT_KIND_SHIFT |
                          (uintptr_t)1 << 32 | indexes[i];
        assert_null(object_find((void *)value, OBJECT_EVENT));
        assert_int_equal(object_refuse((void *)value, OBJECT_EVENT, "event"),
                         RNL_ERROR_INVALID_HANDLE);
    }
}

RNL_TEST(memory_lives_while_the_library_keeps_it)
{
    finished = 0;
    void *handle = create(&things);
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    assert_non_null(object);
    release(handle, OBJECT_EVENT);
    assert_null(object_find(handle, OBJECT_EVENT));
    assert_int_equal(finished, 0);
    object_trim();
    assert_true(mem_held() > 0);
    object_unref(object);
    assert_int_equal(finished, 1);
    expect_nothing_held();
}

RNL_TEST(callers_references_are_counted)
{
    void *handle = create(&things);
    bool last = true;
    assert_int_equal(object_retain(handle, OBJECT_EVENT, "event"), RNL_OK);
    assert_int_equal(object_release_last(handle, OBJECT_EVENT, "event",
                                         &last), RNL_OK);
    assert_false(last);
    assert_int_equal(object_release_last(handle, OBJECT_EVENT, "event",
                                         &last), RNL_OK);
    assert_true(last);
    assert_int_equal(object_release_last(handle, OBJECT_EVENT, "event",
                                         &last), RNL_ERROR_INVALID_HANDLE);
    assert_false(last);
    assert_int_equal(object_retain(handle, OBJECT_EVENT, "event"),
                     RNL_ERROR_INVALID_HANDLE);
    expect_nothing_held();
}

RNL_TEST(callers_references_have_a_limit)
{
    void *handle = create(&things);
    for (uint32_t i = 1; i < OBJECT_USERS_MOST; i++)
        if (object_retain(handle, OBJECT_EVENT, "event"))
            fail_msg("%u were too many", i);
    assert_int_equal(object_retain(handle, OBJECT_EVENT, "event"),
                     RNL_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(rnl_last_error()->message, "1048575 times"));
    for (uint32_t i = 0; i < OBJECT_USERS_MOST; i++)
        release(handle, OBJECT_EVENT);
    assert_null(object_find(handle, OBJECT_EVENT));
    expect_nothing_held();
}

RNL_TEST(the_callers_last_reference_can_be_left)
{
    void *handle = create(&things);
    struct object *object = find(handle, OBJECT_EVENT);
    assert_false(object_release_but_last(object, handle));
    assert_int_equal(object_retain(handle, OBJECT_EVENT, "event"), RNL_OK);
    assert_true(object_release_but_last(object, handle));
    release(handle, OBJECT_EVENT);
}

// A buffer can be every argument of every launch that a program enqueues.
RNL_TEST(the_librarys_references_are_none_of_the_callers)
{
    void *handle = create(&things);
    struct object *object = find(handle, OBJECT_EVENT);
    atomic_fetch_add(&object->counts, UINT64_C(1) << 30);
    assert_int_equal(object_users(object), 1);
    atomic_fetch_sub(&object->counts, UINT64_C(1) << 30);
    release(handle, OBJECT_EVENT);
}

// What the library keeps is not the caller's to give up twice.
RNL_TEST(a_second_release_is_refused_while_the_library_keeps_it)
{
    finished = 0;
    void *handle = create(&things);
    struct object *object = object_find(handle, OBJECT_EVENT);
    bool last;
    object_ref(object);
    release(handle, OBJECT_EVENT);
    // As by a thread that found it before.
    assert_int_equal(object_release_found(object, handle, OBJECT_EVENT,
                                          "event", &last),
                     RNL_ERROR_INVALID_HANDLE);
    assert_false(object_retain_if_alive(object, handle));
    assert_int_equal(finished, 0);
    object_unref(object);
    assert_int_equal(finished, 1);
    expect_nothing_held();
}

RNL_TEST(find_and_keep_needs_a_live_object)
{
    void *handle = create(&things);
    struct object *object = find(handle, OBJECT_EVENT);
    assert_ptr_equal(object_find_ref(handle, OBJECT_EVENT), object);
    assert_null(object_find_ref(handle, OBJECT_BUFFER));
    release(handle, OBJECT_EVENT);
    assert_null(object_find_ref(handle, OBJECT_EVENT));
    assert_true(object_ref_if_alive(object));
    object_unref(object);
    object_unref(object);
    assert_false(object_ref_if_alive(object));
    expect_nothing_held();
}

RNL_TEST(a_slot_never_changes_its_class)
{
    void *handles[300];
    struct object *objects[300];
    for (int i = 0; i < 300; i++) {
        handles[i] = create(&things);
        objects[i] = find(handles[i], OBJECT_EVENT);
    }
    for (int i = 0; i < 300; i++)
        release(handles[i], OBJECT_EVENT);
    for (int i = 0; i < 300; i++) {
        void *other = create(&others);
        struct object *object = find(other, OBJECT_BUFFER);
        for (int j = 0; j < 300; j++)
            assert_ptr_not_equal(object, objects[j]);
        release(other, OBJECT_BUFFER);
    }
    expect_nothing_held();
}

RNL_TEST(slots_are_reused_with_the_next_generation)
{
    enum { ROUNDS = 2000 };
    static void *handles[ROUNDS];
    uint32_t highest = 0;
    for (int i = 0; i < ROUNDS; i++) {
        handles[i] = create(&things);
        uint32_t index = (uint32_t)(uintptr_t)handles[i];
        highest = index > highest ? index : highest;
        release(handles[i], OBJECT_EVENT);
    }
    // Few slots for many objects; and all handles are different and dead.
    assert_true(highest < 300);
    for (int i = 0; i < ROUNDS; i++) {
        assert_null(object_find(handles[i], OBJECT_EVENT));
        for (int j = 0; j < i; j++)
            assert_ptr_not_equal(handles[i], handles[j]);
    }
    expect_nothing_held();
}

// Without a trace among what this thread sees.
static struct object *peek(void *handle)
{
    struct object *object = object_in_slot(handle, OBJECT_EVENT);
    return object && object_has_handle(object, handle) ? object : NULL;
}

// Makes and releases many; true when `object` was one of them.
static bool is_reused(const struct object *object)
{
    bool reused = false;
    for (int i = 0; i < 500; i++) {
        void *handle = create(&things);
        reused |= peek(handle) == object;
        release(handle, OBJECT_EVENT);
    }
    return reused;
}

struct looker {
    pthread_barrier_t barrier;
    void *handle;
};

// Finds the object, and another one once it is told to; then ends.
static void *look(void *argument)
{
    struct looker *looker = argument;
    enter_call("look");
    object_find(looker->handle, OBJECT_EVENT);
    pthread_barrier_wait(&looker->barrier);
    pthread_barrier_wait(&looker->barrier);
    object_find(looker->handle, OBJECT_EVENT);
    pthread_barrier_wait(&looker->barrier);
    pthread_barrier_wait(&looker->barrier);
    return NULL;
}

RNL_TEST(what_a_thread_is_at_work_with_is_not_reused)
{
    pthread_t thread;
    struct looker looker = {.handle = create(&things)};
    struct object *object = peek(looker.handle);
    assert_int_equal(pthread_barrier_init(&looker.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, look, &looker), 0);
    pthread_barrier_wait(&looker.barrier);
    release(looker.handle, OBJECT_EVENT);
    assert_false(is_reused(object));
    looker.handle = create(&things);
    pthread_barrier_wait(&looker.barrier);
    pthread_barrier_wait(&looker.barrier);
    assert_true(is_reused(object));
    object = peek(looker.handle);
    release(looker.handle, OBJECT_EVENT);
    assert_false(is_reused(object));
    pthread_barrier_wait(&looker.barrier);
    pthread_join(thread, NULL);
    assert_true(is_reused(object));
    pthread_barrier_destroy(&looker.barrier);
    expect_nothing_held();
}

// --- Guards ----------------------------------------------------------------

static struct object_class guarded = {
    .kind = OBJECT_FUNCTION, .size = sizeof(struct thing),
    .finish = thing_finish};

static void *guard(void *argument)
{
    struct looker *looker = argument;
    enter_call("guard");
    struct object *object = object_protect(looker->handle, OBJECT_FUNCTION,
                                         HAZARD_CODE);
    pthread_barrier_wait(&looker->barrier);
    pthread_barrier_wait(&looker->barrier);
    object_unprotect(HAZARD_CODE);
    return object;
}

RNL_TEST(what_a_thread_guards_ends_when_it_lets_go)
{
    pthread_t thread;
    void *found;
    struct looker looker = {.handle = create(&guarded)};
    void *other = create(&guarded);
    struct object *object = object_find(looker.handle, OBJECT_FUNCTION);
    finished = 0;
    assert_int_equal(pthread_barrier_init(&looker.barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, guard, &looker), 0);
    pthread_barrier_wait(&looker.barrier);
    release(looker.handle, OBJECT_FUNCTION);
    assert_int_equal(finished, 0);
    assert_null(object_find(looker.handle, OBJECT_FUNCTION));
    assert_null(object_protect(looker.handle, OBJECT_FUNCTION, HAZARD_CODE));
    release(other, OBJECT_FUNCTION);  // which nobody guards
    assert_int_equal(finished, 1);
    pthread_barrier_wait(&looker.barrier);
    pthread_join(thread, &found);
    assert_ptr_equal(found, object);
    assert_int_equal(finished, 2);
    pthread_barrier_destroy(&looker.barrier);
    expect_nothing_held();
}

// One thread lets go while the other releases: whoever comes later ends it.
enum { GUARD_ROUNDS = 2000 };

static void *_Atomic given;          // a handle to be guarded
static _Atomic int letting_go, over;  // the round

static void await_round(_Atomic int *word, int round)
{
    for (unsigned i = 0; atomic_load(word) != round; i++)
        if (i % 1000 == 999)
            sched_yield();
}

static void *guard_each(void *unused)
{
    enter_call("guard");
    for (int round = 1; round <= GUARD_ROUNDS; round++) {
        void *handle;
        for (unsigned i = 0; !(handle = atomic_exchange(&given, NULL)); i++)
            if (i % 1000 == 999)
                sched_yield();
        object_protect(handle, OBJECT_FUNCTION, HAZARD_CODE);
        atomic_store(&letting_go, round);
        object_unprotect(HAZARD_CODE);
        atomic_store(&over, round);
    }
    return unused;
}

static void let_go_of_each(void)
{
    pthread_t thread;
    finished = 0;
    assert_int_equal(pthread_create(&thread, NULL, guard_each, NULL), 0);
    for (int round = 1; round <= GUARD_ROUNDS; round++) {
        void *handle = create(&guarded);
        atomic_store(&given, handle);
        await_round(&letting_go, round);
        release(handle, OBJECT_FUNCTION);
        await_round(&over, round);
        assert_int_equal(finished, round);
    }
    pthread_join(thread, NULL);
    expect_nothing_held();
}

RNL_TEST(nothing_that_was_guarded_is_left_behind)
{
    let_go_of_each();
}

RNL_TEST(nothing_is_left_behind_where_fences_are_remote)
{
    asymmetric_fence_open();
    let_go_of_each();
}

RNL_TEST(a_guard_of_what_lives_on_ends_nothing)
{
    enter_call("guard");
    finished = 0;
    void *handle = create(&guarded);
    for (int i = 0; i < 3; i++) {
        assert_non_null(object_protect(handle, OBJECT_FUNCTION, HAZARD_CODE));
        assert_null(object_protect(handle, OBJECT_EVENT, HAZARD_CODE));
        object_unprotect(HAZARD_CODE);
    }
    object_await_unprotected(object_find(handle, OBJECT_FUNCTION));
    assert_int_equal(finished, 0);
    release(handle, OBJECT_FUNCTION);
    assert_int_equal(finished, 1);
    expect_nothing_held();
}

static void fail_to_finish(struct object *object)
{
    (void)object;
    fail(RNL_ERROR_OUT_OF_MEMORY, "the end of an object failed");
    fail_set_log("at length");
}

// It is not the call's business, whose failure stays with its details.
RNL_TEST(what_ends_behind_a_call_leaves_its_failure)
{
    static struct object_class failing = {
        .kind = OBJECT_FUNCTION, .size = sizeof(struct thing),
        .finish = fail_to_finish};
    enter_call("guard");
    void *handle = create(&failing);
    struct object *object =
        object_protect(handle, OBJECT_FUNCTION, HAZARD_CODE);
    release(handle, OBJECT_FUNCTION);
    assert_int_equal(object_users(object), 0);
    fail_at(RNL_ERROR_INVALID_ARGUMENT, "grid", "the launch failed");
    fail_set_log("in short");
    object_unprotect(HAZARD_CODE);
    const rnl_error *error = rnl_last_error();
    assert_int_equal(error->status, RNL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error->message, "the launch failed");
    assert_string_equal(error->parameter, "grid");
    assert_string_equal(error->log, "in short");
    expect_nothing_held();
}

// In a process of its own, since a slot whose generations are used up keeps its
// memory for good.
static void in_a_process(void (*body)(void))
{
    pid_t pid = test_fork();
    if (pid == 0) {
        body();
        test_exit(0);
    }
    assert_int_equal(test_wait(pid), 0);
}

static void use_up_generations(void)
{
    enum { ROUNDS = 3000 };
    static void *handles[ROUNDS];
    object_set_generations(4);
    for (int i = 0; i < ROUNDS; i++) {
        handles[i] = create(&things);
        if (!object_find(handles[i], OBJECT_EVENT))
            test_exit(1);
        release(handles[i], OBJECT_EVENT);
        if (i % 500 == 499)
            object_trim();
    }
    for (int i = 0; i < ROUNDS; i++)
        for (int j = 0; j < i; j++)
            if (handles[i] == handles[j])
                test_exit(2);
}

RNL_TEST(handles_stay_unique_when_generations_run_out)
{
    in_a_process(use_up_generations);
}

// The last generation of a slot, then a trim: what comes next must still carry
// its kind in the upper bits.
static void use_last_generation(void)
{
    struct object *object = object_create(&things, NULL, NULL);
    object->generation = OBJECT_GENERATIONS - 1;
    object_revive(object, object->id);
    void *handle = object_publish(object);
    for (int i = 0; i < 4; i++) {
        if ((uintptr_t)handle >> OBJECT_KIND_SHIFT != OBJECT_EVENT)
            test_exit(1);
        if (object_find(handle, OBJECT_EVENT) != object)
            test_exit(2);
        release(handle, OBJECT_EVENT);
        if (object_find(handle, OBJECT_EVENT))
            test_exit(3);
        object_trim();
        object = object_create(&things, NULL, NULL);
        if (!object)
            break;  // refusing is fine, too
        handle = object_publish(object);
    }
}

RNL_TEST(the_last_generation_does_not_spill_into_the_kind)
{
    in_a_process(use_last_generation);
}

RNL_TEST(more_objects_than_a_chunk_holds)
{
    enum { COUNT = 3 * OBJECT_CHUNK_SIZE };
    static void *handles[COUNT];
    for (int i = 0; i < COUNT; i++)
        handles[i] = create(&things);
    for (int i = 0; i < COUNT; i++)
        assert_non_null(object_find(handles[i], OBJECT_EVENT));
    for (int i = 0; i < COUNT; i++)
        release(handles[i], OBJECT_EVENT);
    expect_nothing_held();
    for (int i = 0; i < COUNT; i++)
        assert_null(object_find(handles[i], OBJECT_EVENT));
}

RNL_TEST(labels_are_copied_and_described)
{
    char label[] = "upload", text[64];
    struct object *object = object_create(&things, NULL, label);
    label[0] = 'X';
    void *handle = object_publish(object);
    assert_string_equal(object->label, "upload");
    assert_non_null(strstr(object_describe(object, text, sizeof text),
                           "'upload'"));
    assert_non_null(strstr(text, "event"));
    // A short store is filled, not overrun.
    assert_int_equal(strlen(object_describe(object, text, 5)), 4);
    release(handle, OBJECT_EVENT);
    expect_nothing_held();
}

RNL_TEST(a_refusal_says_why)
{
    void *handle = create(&things), *other = create(&others);
    release(handle, OBJECT_EVENT);
    const struct {
        void *handle;
        const char *word;
    } rows[] = {{NULL, "NULL"}, {handle, "released"}, {other, "buffer"},
                {(void *)(uintptr_t)0x1234, "never"}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(object_refuse(rows[i].handle, OBJECT_EVENT, "start"),
                         RNL_ERROR_INVALID_HANDLE);
        assert_non_null(strstr(rnl_last_error()->message, rows[i].word));
        assert_string_equal(rnl_last_error()->parameter, "start");
    }
    release(other, OBJECT_BUFFER);
    expect_nothing_held();
}

RNL_TEST(ids_are_never_given_twice)
{
    uint64_t last = object_new_id();
    for (int i = 0; i < 1000; i++) {
        uint64_t next = object_new_id();
        assert_true(next > last);
        last = next;
    }
}

static bool refused(void *handle, rnl_status status)
{
    return !object_find(handle, OBJECT_EVENT) &&
           object_refuse(handle, OBJECT_EVENT, "event") == status &&
           object_retain(handle, OBJECT_EVENT, "event") == status &&
           object_release(handle, OBJECT_EVENT, "event") == status;
}

static void fork_table_twice(void)
{
    void *live = create(&things), *dead = create(&things);
    release(dead, OBJECT_EVENT);
    object_table_forked();
    if (!refused(live, RNL_ERROR_FORKED))
        test_exit(1);
    if (!refused(dead, RNL_ERROR_INVALID_HANDLE))
        test_exit(2);
    // And once more, in the child's child.
    void *childs = create(&things);
    object_table_forked();
    if (!refused(live, RNL_ERROR_FORKED))
        test_exit(3);
    if (!refused(childs, RNL_ERROR_FORKED))
        test_exit(4);
}

RNL_TEST(after_a_fork_every_handle_is_the_parents)
{
    in_a_process(fork_table_twice);
}

// As another thread may have had it when the process forked.
static void fork_with_half_a_list(void)
{
    for (int i = 0; i < 200; i++)
        release(create(&things), OBJECT_EVENT);
    things.dead.first->next_free = NULL;
    object_table_forked();
    for (int i = 0; i < 200; i++)
        release(create(&things), OBJECT_EVENT);
}

RNL_TEST(a_fork_leaves_no_half_changed_list)
{
    in_a_process(fork_with_half_a_list);
}

static int allocations_left;

static void *give(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (allocations_left-- <= 0)
        return NULL;
    return aligned_alloc(alignment < 16 ? 16 : alignment,
                         (size + alignment + 15) / alignment * alignment);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    free(memory);
}

RNL_TEST(creation_without_memory_leaves_nothing)
{
    expect_nothing_held();
    assert_true(mem_set_allocator(
        RNL_ALLOCATOR(.allocate = give, .release = take)));
    finished = 0;
    for (int k = 0; k < 2; k++) {
        allocations_left = k;
        assert_null(object_create(&things, NULL, "with a label"));
        assert_int_equal(rnl_last_error()->status, RNL_ERROR_OUT_OF_MEMORY);
        object_trim();
        assert_int_equal(mem_held(), 0);
    }
    allocations_left = 2;
    struct object *object = object_create(&things, NULL, "with a label");
    assert_non_null(object);
    release(object_publish(object), OBJECT_EVENT);
    assert_int_equal(finished, 1);
    expect_nothing_held();
    assert_true(mem_set_allocator(NULL));
}
