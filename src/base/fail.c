#include "base/fail.h"

#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct thread_state thread_state
    __attribute__((tls_model("initial-exec")));

// Where the strings of `error` live. The log alone can be long, so it alone is
// allocated, from the C library since it outlives every object; one that finds
// no memory is dropped, never the failure.
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

static _Thread_local struct failure_text last;

// Cuts what does not fit and says so, on a character boundary.
static const char *keep(char *store, size_t size, const char *text)
{
    if (!text)
        return NULL;
    size_t length = strlen(text);
    if (length < size) {
        memcpy(store, text, length + 1);
        return store;
    }
    size_t cut = size - 4;
    while (cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    memcpy(store, text, cut);
    memcpy(store + cut, "...", 4);
    return store;
}

// --- The end of a thread ---------------------------------------------------

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static void (*_Atomic exit_hook)(void);

static void thread_ends(void *noticed)
{
    (void)noticed;
    free(last.log);
    last.log = NULL;
    void (*hook)(void) = atomic_load(&exit_hook);
    if (hook)
        hook();
}

static void exit_key_create(void)
{
    pthread_key_create(&exit_key, thread_ends);
}

void thread_set_exit_hook(void (*hook)(void))
{
    atomic_store_explicit(&exit_hook, hook, memory_order_relaxed);
}

void thread_notice_exit(void)
{
    pthread_once(&exit_once, exit_key_create);
    pthread_setspecific(exit_key, &last);
}

// --- Failures --------------------------------------------------------------

static void begin(rnl_status status)
{
    free(last.log);
    last.log = NULL;
    last.error = (rnl_error){
        .struct_size = sizeof(rnl_error),
        .status = status,
        .message = last.message,
        .function = thread_state.function,
    };
}

static void announce(void)
{
    // A refusal inside a log callback must not call it again.
    if (thread_state.callback_depth == 0 && log_wants(RNL_LOG_DEBUG))
        log_write(RNL_LOG_DEBUG, "%s: %s: %s",
                  last.error.function ? last.error.function : "runnel",
                  rnl_status_name(last.error.status), last.message);
}

static void vfail(rnl_status status, const char *format, va_list arguments)
{
    begin(status);
    vsnprintf(last.message, sizeof last.message, format, arguments);
}

rnl_status fail(rnl_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfail(status, format, arguments);
    va_end(arguments);
    announce();
    return status;
}

rnl_status fail_at(rnl_status status, const char *parameter,
                   const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfail(status, format, arguments);
    va_end(arguments);
    last.error.parameter =
        keep(last.parameter, sizeof last.parameter, parameter);
    announce();
    return status;
}

void fail_set_object(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.object, sizeof last.object, format, arguments);
    va_end(arguments);
    last.error.object = last.object;
}

void fail_set_function(const char *name)
{
    last.error.function = name;
}

void fail_set_native(int64_t code, const char *text)
{
    last.error.native_code = code;
    last.error.native_text = keep(last.native, sizeof last.native, text);
}

void fail_set_log(const char *log)
{
    free(last.log);
    last.log = log ? strdup(log) : NULL;
    last.error.log = last.log;
    if (last.log)
        thread_notice_exit();
}

rnl_status fail_with(const rnl_error *details)
{
    begin(details->status);
    keep(last.message, sizeof last.message, details->message);
    fail_set_native(details->native_code, details->native_text);
    last.error.stream = keep(last.stream, sizeof last.stream, details->stream);
    last.error.operation = details->operation;
    last.error.operation_name =
        keep(last.name, sizeof last.name, details->operation_name);
    last.error.operation_label =
        keep(last.label, sizeof last.label, details->operation_label);
    last.error.site_file = details->site_file;
    last.error.site_line = details->site_line;
    announce();
    return details->status;
}

rnl_status fail_in_callback(void)
{
    return fail(RNL_ERROR_NOT_PERMITTED,
                "%s was called from inside a host function, a native kernel, "
                "a deleter or a log callback, where Runnel may not be called",
                thread_state.function);
}

const rnl_error *rnl_last_error(void)
{
    if (last.error.struct_size == 0)
        begin(RNL_OK);
    return &last.error;
}

void rnl_last_error_clear(void)
{
    thread_state.function = NULL;
    begin(RNL_OK);
    last.message[0] = '\0';
}
