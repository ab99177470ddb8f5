#include "base/fail.h"

#include "base/asymmetric_fence.h"
#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct thread_state thread_state
    __attribute__((tls_model("initial-exec"))) = {
        .callback_depth = THREAD_NEW,
};

// Storage of the strings of `error`. The log can be long, so it is allocated
// apart; without memory the log is dropped, never the failure.
struct failure_text {
    rnl_error error;
    char message[1024];
    char native[256];
    char parameter[64];
    char object[192];
    char stream[192];
    char name[192];
    char label[192];
    char *log;
};

// Allocated, because libraries that are loaded late get little thread-local
// storage; by the C library, since this storage outlives every object. Threads
// without memory share a record. A call has a record, and callbacks and work
// beside the call have separate ones: their failures are not failures of the
// call.
enum { LEVELS = 3 };
static _Thread_local struct failure_text *own[LEVELS]
    __attribute__((tls_model("initial-exec")));
static struct failure_text shared[LEVELS];

static unsigned level(void)
{
    unsigned depth =
        (thread_state.callback_depth & ~THREAD_NEW) + thread_state.beside;
    return depth < LEVELS ? depth : LEVELS - 1;
}

static struct failure_text *last(void)
{
    unsigned at = level();
    if (own[at])
        return own[at];
    own[at] = calloc(1, sizeof *own[at]);
    if (!own[at])
        return &shared[at];
    thread_notice_exit();
    return own[at];
}

static void format_into(char *store, size_t size, const char *format,
                        va_list arguments)
{
    int length = vsnprintf(store, size, format, arguments);
    if (length >= 0 && (size_t)length >= size)
        text_end_cut(store, size);
}

static const char *keep(char *store, size_t size, const char *text)
{
    if (!text)
        return NULL;
    size_t length = strlen(text);
    memmove(store, text, length < size ? length + 1 : size);
    if (length >= size)
        text_end_cut(store, size);
    return store;
}

// --- Threads, from their first call to their end -----------------------------

uint64_t thread_choose_number(void)
{
    static _Atomic uint64_t count;
    thread_state.number =
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
    return thread_state.number;
}

// Guards the list and its threads' `guards`.
static struct lock threads_lock = LOCK_RANKED(RANK_LEAF);
static struct thread_state *threads;

static bool fences_are_remote(void)
{
    return atomic_load(&read_mostly.fence_mode) == FENCE_REMOTE;
}

void threads_note_fences(void)
{
    lock_take(&threads_lock);
    for (struct thread_state *at = threads; at; at = at->next)
        atomic_store(&at->uses_hazards, fences_are_remote());
    lock_give(&threads_lock);
}

// Others write a thread's link, under the lock, when their place in the list is
// beside its own; whether it is NULL the thread itself looks at without one.
static void set_link(struct thread_state *thread, struct thread_state **link)
{
    atomic_store_explicit(&thread->link, link, memory_order_relaxed);
}

static struct thread_state **own_link(void)
{
    return atomic_load_explicit(&thread_state.link, memory_order_relaxed);
}

static void list_thread(void)
{
    lock_take(&threads_lock);
    thread_state.next = threads;
    set_link(&thread_state, &threads);
    if (threads)
        set_link(threads, &thread_state.next);
    threads = &thread_state;
    atomic_store(&thread_state.uses_hazards, fences_are_remote());
    lock_give(&threads_lock);
}

static void unlist_thread(void)
{
    lock_take(&threads_lock);
    atomic_store(&thread_state.uses_hazards, false);
    if (own_link())
        *own_link() = thread_state.next;
    if (own_link() && thread_state.next)
        set_link(thread_state.next, own_link());
    set_link(&thread_state, NULL);
    lock_give(&threads_lock);
}

// In the child there is only the thread that forked.
static void threads_forked(void)
{
    bool listed = own_link() != NULL;
    threads_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
    threads = NULL;
    if (listed)
        list_thread();
}

void threads_visit(void (*visit)(const struct thread_state *, void *),
                   void *argument)
{
    lock_take(&threads_lock);
    for (struct thread_state *at = threads; at; at = at->next)
        visit(at, argument);
    lock_give(&threads_lock);
}

static pthread_key_t exit_key;
static bool exit_key_made;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static void (*_Atomic exit_hook)(void);

static void thread_ends(void *noticed)
{
    (void)noticed;
    unlist_thread();
    thread_state.callback_depth &= ~THREAD_NEW;
    for (int i = 0; i < LEVELS; i++) {
        if (own[i])
            free(own[i]->log);
        free(own[i]);
        own[i] = NULL;
    }
    void (*hook)(void) = atomic_load(&exit_hook);
    if (hook)
        hook();
}

static void exit_key_create(void)
{
    exit_key_made = pthread_key_create(&exit_key, thread_ends) == 0 &&
                    pthread_atfork(NULL, NULL, threads_forked) == 0;
}

void thread_set_exit_hook(void (*hook)(void))
{
    atomic_store_explicit(&exit_hook, hook, memory_order_relaxed);
}

bool thread_is_visited(void)
{
    bool first = thread_state.callback_depth & THREAD_NEW;
    if (first && !own_link() && thread_notice_exit())
        list_thread();
    return own_link() != NULL;
}

bool thread_notice_exit(void)
{
    pthread_once(&exit_once, exit_key_create);
    return exit_key_made && pthread_setspecific(exit_key, &exit_key) == 0;
}

// --- Failures --------------------------------------------------------------

static struct failure_text *begin(rnl_status status)
{
    struct failure_text *text = last();
    free(text->log);
    text->log = NULL;
    text->error = (rnl_error){
        .struct_size = sizeof(rnl_error),
        .status = status,
        .message = text->message,
        .function = thread_state.function,
    };
    return text;
}

void fail_beside(void (*what)(void *argument), void *argument)
{
    thread_state.beside++;
    what(argument);
    thread_state.beside--;
}

// Formats the line before the callback is called.
static void log_failure(const struct failure_text *text)
{
    log_write(RNL_LOG_DEBUG, "%s: %s: %s",
              text->error.function ? text->error.function : "runnel",
              rnl_status_name(text->error.status), text->message);
}

static void announce(void)
{
    // A refusal inside a log callback must not call it again.
    if ((thread_state.callback_depth & ~THREAD_NEW) > 0 ||
        !log_wants(RNL_LOG_DEBUG))
        return;
    log_failure(last());
}

rnl_status fail(rnl_status status, const char *format, ...)
{
    struct failure_text *text = begin(status);
    va_list arguments;
    va_start(arguments, format);
    format_into(text->message, sizeof text->message, format, arguments);
    va_end(arguments);
    announce();
    return status;
}

rnl_status fail_at(rnl_status status, const char *parameter,
                   const char *format, ...)
{
    struct failure_text *text = begin(status);
    va_list arguments;
    va_start(arguments, format);
    format_into(text->message, sizeof text->message, format, arguments);
    va_end(arguments);
    text->error.parameter =
        keep(text->parameter, sizeof text->parameter, parameter);
    announce();
    return status;
}

void fail_set_object(const char *format, ...)
{
    struct failure_text *text = last();
    va_list arguments;
    va_start(arguments, format);
    format_into(text->object, sizeof text->object, format, arguments);
    va_end(arguments);
    text->error.object = text->object;
}

rnl_status fail_status(void)
{
    return last()->error.status;
}

void fail_set_function(const char *name)
{
    last()->error.function = name;
}

void fail_set_native(int64_t code, const char *native)
{
    struct failure_text *text = last();
    text->error.native_code = code;
    text->error.native_text = keep(text->native, sizeof text->native, native);
}

void fail_set_log(const char *log)
{
    struct failure_text *text = last();
    free(text->log);
    text->log = log ? strdup(log) : NULL;
    text->error.log = text->log;
}

rnl_status fail_compiler(rnl_status status, const char *what, const char *log)
{
    const char *line;
    int length = text_first_error(log, &line);
    fail(status, "%s%s%.*s", what, length ? ": " : "", length, line);
    fail_set_log(log);
    return status;
}

// The details may be of the failure before, and have its texts.
rnl_status fail_with(const rnl_error *details)
{
    char *log = last()->log;
    last()->log = NULL;
    struct failure_text *text = begin(details->status);
    rnl_error *error = &text->error;
    keep(text->message, sizeof text->message,
         details->message ? details->message
                          : rnl_status_text(details->status));
    free(log);
    fail_set_native(details->native_code, details->native_text);
    error->parameter =
        keep(text->parameter, sizeof text->parameter, details->parameter);
    error->object = keep(text->object, sizeof text->object, details->object);
    error->stream = keep(text->stream, sizeof text->stream, details->stream);
    error->operation = details->operation;
    error->operation_name =
        keep(text->name, sizeof text->name, details->operation_name);
    error->operation_label =
        keep(text->label, sizeof text->label, details->operation_label);
    error->site_file = details->site_file;
    error->site_line = details->site_line;
    announce();
    return details->status;
}

// Once in a thread: after leaving the list, a thread that calls again might end
// unnoticed.
rnl_status enter_release_or_refuse(const char *function)
{
    if ((thread_state.callback_depth & ~THREAD_NEW) !=
        thread_state.release_depth)
        return enter_first_or_refuse(function);
    thread_is_visited();
    thread_state.callback_depth &= ~THREAD_NEW;
    thread_state.function = function;
    return RNL_OK;
}

const char *releasing_callback_begin(void)
{
    ASSERT(!lock_any_is_held());
    thread_state.release_depth++;
    callback_begin();
    return thread_state.function;
}

void releasing_callback_end(const char *function)
{
    callback_end();
    thread_state.release_depth--;
    thread_state.function = function;  // the call around goes on
}

rnl_status enter_first_or_refuse(const char *function)
{
    const char *around = thread_state.function;
    thread_is_visited();
    thread_state.callback_depth &= ~THREAD_NEW;
    thread_state.function = function;
    if (!thread_state.callback_depth)
        return RNL_OK;
    fail(RNL_ERROR_NOT_PERMITTED,
         "%s was called from inside a host function, a native kernel, "
         "a deleter or a log callback, where Runnel may not be called",
         function);
    thread_state.function = around;  // the call around goes on
    return RNL_ERROR_NOT_PERMITTED;
}

const rnl_error *rnl_last_error(void)
{
    struct failure_text *text = last();
    return text->error.struct_size ? &text->error : &begin(RNL_OK)->error;
}

void rnl_last_error_clear(void)
{
    struct failure_text *text = begin(RNL_OK);
    text->error.function = NULL;
    text->message[0] = '\0';
}
