// core/object/handle: the hazard pointers of calls, with objects of the null
// backend.
#include "unit.h"

#include "backends/null/null.h"
#include "core/backend.h"
#include "core/context/library.h"
#include "core/object/release.h"

#include <pthread.h>
#include <string.h>

static rnl_context context;

static void begin(void)
{
    static const struct backend *const table[] = {&null_backend, NULL};
    assert_ok(library_reopen(table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
}

static void end(void)
{
    size_t held = 1;
    assert_ok(rnl_trim(&held));
    assert_int_equal(held, 0);
}

static rnl_stream new_stream(void)
{
    rnl_stream stream = NULL;
    assert_ok(rnl_stream_create(context, NULL, &stream));
    return stream;
}

static struct object *guard_stream(rnl_stream handle)
{
    struct object *object =
        object_protect(handle, OBJECT_STREAM, HAZARD_STREAM);
    assert_non_null(object);
    return object;
}

static void *release_stream(void *handle)
{
    rnl_status status = rnl_stream_release(handle);
    return (void *)(uintptr_t)status;
}

// The last release, as another thread makes it.
static void release_elsewhere(rnl_stream handle)
{
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_create(&thread, NULL, release_stream, handle), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((int)(uintptr_t)status, RNL_OK);
}

RNL_TEST(what_is_guarded_ends_with_the_call)
{
    begin();
    rnl_stream handle = new_stream();
    unsigned live = null_live();
    guard_stream(handle);
    release_elsewhere(handle);
    assert_int_equal(null_live(), live);
    assert_int_equal(rnl_stream_query(handle), RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(null_live(), live - 1);  // with the end of that call
    object_unprotect(HAZARD_STREAM);
    assert_ok(rnl_context_release(context));
    end();
}

// A thread that others cannot see, or whom the system's fences do not reach.
RNL_TEST(a_thread_that_cannot_guard_holds)
{
    begin();
    rnl_stream handle = new_stream();
    unsigned live = null_live();
    thread_state.uses_hazards = false;
    struct object *object = guard_stream(handle);
    assert_null(thread_state.hazards[HAZARD_STREAM]);
    assert_int_equal(object_references(object), 2);
    release_elsewhere(handle);
    assert_int_equal(null_live(), live);
    object_unprotect(HAZARD_STREAM);
    assert_int_equal(null_live(), live - 1);
    assert_null(object_protect(handle, OBJECT_STREAM, HAZARD_STREAM));
    assert_ok(rnl_context_release(context));
    end();
}

RNL_TEST(a_launch_of_a_thread_that_cannot_guard_holds_its_stream)
{
    begin();
    rnl_stream handle = new_stream();
    thread_state.uses_hazards = false;
    for (int i = 0; i < 10; i++)
        assert_int_equal(rnl_enqueue_function(
                             handle, NULL,
                             RNL_LAUNCH(.grid = {1}, .block = {1}), NULL),
                         RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(thread_state.held_count, 0);
    unsigned live = null_live();
    assert_ok(rnl_stream_release(handle));
    assert_int_equal(null_live(), live - 1);
    assert_ok(rnl_context_release(context));
    end();
}

// What a call takes from what it guards outlives the call, and is ended once.
RNL_TEST(what_is_guarded_may_be_kept)
{
    begin();
    rnl_stream handle = new_stream();
    unsigned live = null_live();
    struct object *object = guard_stream(handle);
    release_elsewhere(handle);
    object_ref(object);
    object_unref(object);
    assert_int_equal(null_live(), live);
    assert_false(object_ref_if_alive(object));
    object_ref(object);
    object_unprotect(HAZARD_STREAM);
    assert_int_equal(null_live(), live);
    object_unref(object);
    assert_int_equal(null_live(), live - 1);
    assert_ok(rnl_context_release(context));
    end();
}

RNL_TEST(nothing_ends_inside_a_call_that_guards)
{
    begin();
    rnl_stream handle = new_stream(), other = new_stream();
    struct object *kept = object_find_ref(other, OBJECT_STREAM);
    assert_non_null(kept);
    release_elsewhere(other);
    unsigned live = null_live();
    guard_stream(handle);
    object_unref(kept);
    assert_int_equal(null_live(), live);
    object_unprotect(HAZARD_STREAM);
    assert_int_equal(null_live(), live - 1);
    assert_ok(rnl_stream_release(handle));
    assert_ok(rnl_context_release(context));
    end();
}

// A callback's call is refused, and the call around it still guards.
RNL_TEST(a_refused_call_leaves_what_the_call_around_guards)
{
    begin();
    rnl_stream handle = new_stream();
    unsigned live = null_live();
    guard_stream(handle);
    callback_begin();
    assert_int_equal(rnl_stream_query(handle), RNL_ERROR_NOT_PERMITTED);
    assert_int_equal(rnl_enqueue_wait_stream(handle, handle),
                     RNL_ERROR_NOT_PERMITTED);
    callback_end();
    release_elsewhere(handle);
    assert_int_equal(null_live(), live);
    object_unprotect(HAZARD_STREAM);
    assert_int_equal(null_live(), live - 1);
    assert_ok(rnl_context_release(context));
    end();
}

// Releases of buffers look at it without a reference.
// The caller has none of its references left, but others have.
RNL_TEST(the_handle_of_a_context_lives_as_long_as_the_context)
{
    begin();
    rnl_context handle = context;
    rnl_stream stream = new_stream();
    struct object *object = object_find(handle, OBJECT_CONTEXT);
    assert_non_null(object);
    assert_ok(rnl_context_release(handle));
    assert_ptr_equal(object_find(handle, OBJECT_CONTEXT), object);
    assert_int_equal(object_users(object), 0);
    assert_status(rnl_context_release(handle), RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(object_users(object), 0);
    for (int i = 0; i < 3; i++) {
        assert_ok(rnl_context_retain(handle));
        assert_ok(rnl_context_retain(handle));
        assert_int_equal(object_users(object), 2);
        assert_ok(rnl_context_release(handle));
        assert_ok(rnl_context_release(handle));
        assert_status(rnl_context_release(handle), RNL_ERROR_INVALID_HANDLE);
        assert_int_equal(object_references(object), 1);  // the stream's
    }
    assert_ok(rnl_stream_release(stream));
    assert_null(object_find(handle, OBJECT_CONTEXT));
    assert_status(rnl_context_retain(handle), RNL_ERROR_INVALID_HANDLE);
    end();
}

RNL_TEST(the_default_streams_memory_stays_with_its_context)
{
    rnl_buffer buffer = NULL;
    rnl_context other = NULL;
    rnl_stream streams[300];
    begin();
    assert_ok(rnl_context_open("null", 0, NULL, &other));
    struct object *object = object_find_ref(other, OBJECT_CONTEXT);
    assert_non_null(object);
    const struct stream *stream = ((struct context *)object)->default_stream;
    object_unref(object);
    assert_ok(rnl_buffer_create(other, 64, NULL, &buffer));
    assert_ok(rnl_context_release(other));
    for (int i = 0; i < 300; i++) {
        streams[i] = new_stream();
        assert_ptr_not_equal(object_find(streams[i], OBJECT_STREAM), stream);
        assert_ok(rnl_stream_release(streams[i]));
    }
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_context_release(context));
    end();
}

// --- A release that is overtaken -------------------------------------------

static _Atomic int ended;
static atomic_bool is_overtaken;
static pthread_barrier_t meeting;

static void count_end(struct object *object)
{
    (void)object;
    atomic_fetch_add(&ended, 1);
}

// Between the last reference and the end, of the release only.
static bool let_others_go_first(struct object *object)
{
    (void)object;
    if (!atomic_exchange(&is_overtaken, true)) {
        pthread_barrier_wait(&meeting);
        pthread_barrier_wait(&meeting);
    }
    return false;
}

static struct object_class codes = {
    .kind = OBJECT_MODULE, .size = sizeof(struct object) + 64,
    .finish = count_end, .park = let_others_go_first};

static void *keep_guarded(void *handle)
{
    enter_call("guard");
    struct object *object = object_protect(handle, OBJECT_MODULE, HAZARD_CODE);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    object_ref(object);
    object_unref(object);
    object_unprotect(HAZARD_CODE);
    pthread_barrier_wait(&meeting);
    return object;
}

RNL_TEST(a_release_that_is_overtaken_ends_nothing_twice)
{
    pthread_t thread;
    begin();
    assert_int_equal(pthread_barrier_init(&meeting, NULL, 2), 0);
    struct object *object = object_create(&codes, NULL, NULL);
    assert_non_null(object);
    void *handle = object_publish(object);
    assert_int_equal(pthread_create(&thread, NULL, keep_guarded, handle), 0);
    pthread_barrier_wait(&meeting);
    assert_ok(object_release(handle, OBJECT_MODULE, "module"));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&ended), 1);
    pthread_barrier_destroy(&meeting);
    assert_ok(rnl_context_release(context));
    end();
}
