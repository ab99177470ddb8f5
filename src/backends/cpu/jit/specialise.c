#include "backends/cpu/jit/specialise.h"

#include "backends/cpu/jit/compile.h"
#include "backends/cpu/jit/object_file.h"
#include "backends/cpu/kernel/block.h"
#include "base/log.h"
#include "core/backend.h"
#include "core/module/disk_cache.h"
#include "core/module/source.h"
#include "core/object/config.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum state {
    WATCHING,  // counting how long it runs
    ASKED,     // in the queue, or being compiled
    DONE,      // code is ready, or never will be
};

struct specialised {
    struct specialiser *owner;
    const rnl_cpu_kernel *kernel;   // the general one
    _Atomic uint32_t state;
    _Atomic uint32_t watched;       // the block size last seen, packed
    _Atomic uint64_t spent_ns;      // with that one
    uint32_t asked;                 // the size that code is made for
    struct specialised *next;           // in the queue
    _Atomic uint32_t ready;         // the size that there is code for; 0: none
    struct loaded_object object;    // written before `ready`
    const rnl_cpu_kernel *fixed;
};

struct specialiser {
    struct source_copy *copy;
    const rnl_cpu_object *table;
    size_t count;
    struct specialised items[];  // one for each kernel
};

// --- The thread that compiles ----------------------------------------------

// The thread ends when the queue is empty; the next user joins the thread.
static struct {
    struct lock lock;  // guards what follows
    struct specialised *first;
    struct specialised *current;
    bool running, joinable, closed;
    pid_t process;
    pthread_t thread;
    atomic_bool stop;           // `current` is not wanted any more
    _Atomic uint32_t finished;  // futex: grows with each kernel
    _Atomic uint32_t made;      // kernels that have code
} maker = {.lock = LOCK_RANKED(RANK_LEAF)};

// A thread of the parent may have had the lock.
static void maker_forked(void)
{
    maker.lock = (struct lock)LOCK_RANKED(RANK_LEAF);
}

// A forked child does not have the thread of its parent.
static void maker_lock(void)
{
    lock_take(&maker.lock);
    if (maker.process == getpid())
        return;
    maker.first = maker.current = NULL;
    maker.running = maker.joinable = false;
    atomic_store(&maker.stop, false);
    maker.process = getpid();
}

// Joins the thread if it has nothing to do but end; else returns false.
static bool maker_join(void)
{
    maker_lock();
    bool idle = !maker.first && !maker.current;
    bool join = idle && maker.joinable;
    pthread_t thread = maker.thread;
    if (join)
        maker.joinable = false;
    lock_give(&maker.lock);
    if (join)
        pthread_join(thread, NULL);
    return idle;
}

// --- One kernel ------------------------------------------------------------

static uint32_t pack(rnl_dim3 block)
{
    return block.x | block.y << 11 | block.z << 22;
}

#define OPTIONS 3

// The source with the options for a single kernel and block size.
struct request {
    struct source source;
    rnl_module_options options;
    char size[48];
    struct text kernel;
    const char *list[];
};

static struct request *request_make(const struct specialised *specialised)
{
    const struct source_copy *copy = specialised->owner->copy;
    size_t count = copy->options.option_count;
    uint32_t block = specialised->asked;
    struct request *request = mem_allocate(
        sizeof *request + (count + OPTIONS) * sizeof *request->list);
    if (!request)
        return NULL;
    request->options = copy->options;
    request->source = (struct source){copy->source.text, &request->options};
    snprintf(request->size, sizeof request->size, "--block-size=%ux%ux%u",
             block & 0x7ff, block >> 11 & 0x7ff, block >> 22);
    text_add(&request->kernel, "--only-kernel=%s", specialised->kernel->name);
    for (size_t i = 0; i < count; i++)
        request->list[i] = copy->options.options[i];
    request->list[count] = "--tier=B";
    request->list[count + 1] = request->size;
    request->list[count + 2] = text_get(&request->kernel);
    request->options.options = request->list;
    request->options.option_count = count + OPTIONS;
    return request;
}

static void request_free(struct request *request)
{
    text_finish(&request->kernel);
    mem_release(request, sizeof *request + request->options.option_count *
                                               sizeof *request->list);
}

// From the disk cache, or compiled and put there.
static bool get_binary(const struct source *source,
                       struct compiled_binary *binary)
{
    char prefix[256 + 64];
    struct source_key key;
    int start = snprintf(prefix, sizeof prefix, "runnel %d cpu fixed ",
                         RNL_VERSION);
    if (config_get()->cache_disabled)
        return compile_source(source, &maker.stop, binary) == RNL_OK;
    if (cpu_compiler_identity(NULL, prefix + start, 256) != RNL_OK ||
        !source_key_make(&key, source, prefix))
        return false;
    bool got =
        disk_cache_load(key.data, key.size, &binary->data, &binary->size);
    if (!got && compile_source(source, &maker.stop, binary) == RNL_OK) {
        got = true;
        disk_cache_store(key.data, key.size, binary->data, binary->size);
    }
    source_key_finish(&key);
    return got;
}

static bool find_code(struct specialised *specialised)
{
    const rnl_cpu_object *table = specialised->object.table;
    uint32_t block = specialised->asked;
    for (size_t i = 0; i < table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = object_file_kernel(table, i);
        if (!object_file_fixed(table, kernel) || !kernel->run_blocks ||
            strcmp(kernel->name, specialised->kernel->name) != 0)
            continue;
        const uint32_t *size = kernel->block_size;
        if (pack((rnl_dim3){size[0], size[1], size[2]}) != block)
            continue;
        specialised->fixed = kernel;
        return true;
    }
    return false;
}

static bool make(struct specialised *specialised)
{
    struct request *request = request_make(specialised);
    struct compiled_binary binary = {0};
    if (!request)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory"), false;
    bool made = get_binary(&request->source, &binary) &&
                object_file_load(binary.data, binary.size,
                                 &specialised->object) == RNL_OK;
    request_free(request);
    mem_release(binary.data, binary.size);
    text_release(binary.log);
    if (!made || find_code(specialised))
        return made;
    object_file_unload(&specialised->object);
    return fail(RNL_ERROR_INVALID_BINARY, "the object has other code"), false;
}

static void make_or_say(struct specialised *specialised)
{
    if (make(specialised)) {
        atomic_fetch_add(&maker.made, 1);
        atomic_store_explicit(&specialised->ready, specialised->asked,
                              memory_order_release);
    } else if (!atomic_load(&maker.stop)) {
        const rnl_error *error = rnl_last_error();
        bool refused = error->status == RNL_ERROR_COMPILE_FAILED;
        log_write(refused ? RNL_LOG_INFO : RNL_LOG_WARNING,
                  "the kernel '%s' is not compiled for its block size: %s",
                  specialised->kernel->name, error->message);
    }
    rnl_last_error_clear();
}

static struct specialised *next(void)
{
    maker_lock();
    struct specialised *specialised = maker.current = maker.first;
    if (specialised)
        maker.first = specialised->next;
    else
        maker.running = false;
    atomic_store(&maker.stop, maker.closed);
    lock_give(&maker.lock);
    return specialised;
}

static void *run(void *argument)
{
    (void)argument;
    setpriority(PRIO_PROCESS, 0, 10);  // of this thread and its children
    struct specialised *specialised;
    while ((specialised = next())) {
        make_or_say(specialised);
        atomic_store(&specialised->state, DONE);
        maker_lock();
        maker.current = NULL;
        lock_give(&maker.lock);
        atomic_fetch_add(&maker.finished, 1);
        futex_wake(&maker.finished, INT32_MAX);
    }
    return NULL;
}

// --- Asking for it ---------------------------------------------------------

static void ask(struct specialised *specialised)
{
    bool failed = false;
    maker_lock();
    if (!maker.running && maker.joinable) {
        pthread_join(maker.thread, NULL);
        maker.joinable = false;
    }
    struct specialised **last = &maker.first;
    while (*last)
        last = &(*last)->next;
    if (!maker.running && !maker.closed) {
        maker.running = maker.joinable =
            thread_start(&maker.thread, "runnel-compile", run, NULL);
        failed = !maker.running;
    }
    if (maker.running)
        *last = specialised;
    lock_give(&maker.lock);
    if (failed)
        log_write(RNL_LOG_WARNING, "no thread can be started to compile the "
                  "kernel '%s' for its block size", specialised->kernel->name);
}

bool specialised_waits(const struct specialised *specialised)
{
    return atomic_load_explicit(&specialised->state, memory_order_relaxed) ==
           WATCHING;
}

void specialised_note(struct specialised *specialised, rnl_dim3 block,
                      uint64_t time_ns)
{
    uint32_t size = pack(block), watching = WATCHING;
    if (atomic_load(&specialised->state) != WATCHING)
        return;
    if (atomic_exchange(&specialised->watched, size) != size)
        atomic_store(&specialised->spent_ns, 0);
    uint64_t spent =
        atomic_fetch_add(&specialised->spent_ns, time_ns) + time_ns;
    if (spent < config_get()->specialise_ns ||
        !atomic_compare_exchange_strong(&specialised->state, &watching, ASKED))
        return;
    specialised->asked = size;
    specialised->next = NULL;
    ask(specialised);
}

bool specialised_is_ready(const struct specialised *specialised, rnl_dim3 block)
{
    return atomic_load_explicit(&specialised->ready, memory_order_acquire) ==
           pack(block);
}

uint32_t specialised_flags(const struct specialised *specialised)
{
    return specialised->fixed->flags;
}

void specialised_use(const struct specialised *specialised,
                     struct kernel_run *run)
{
    run->object = specialised->object.table;
    run->kernel = specialised->fixed;
    run->code = specialised->object.code;
}

// --- Of a module -----------------------------------------------------------

// Whether compiling it once more, later, gives the same.
static bool can_repeat(const struct source *source)
{
    const rnl_module_options *options = source->options;
    for (size_t i = 0; i < options->option_count; i++)
        if (strncmp(options->options[i], "--block-size", 12) == 0)
            return false;
    return !source->dump.kinds && source_is_closed(source);
}

struct specialiser *specialiser_open(const rnl_cpu_object *table,
                               const struct source *source)
{
    if (config_get()->specialise_ns == UINT64_MAX || table->tier != 'B' ||
        !can_repeat(source))
        return NULL;
    // Before anybody takes the lock.
    static atomic_bool noticed;
    static const struct fork_hooks hooks = {.in_child = maker_forked};
    if (!thread_notice_forks(&noticed, &hooks))
        return NULL;
    size_t count = table->kernel_count;
    struct specialiser *specialiser =
        mem_allocate(sizeof *specialiser + count * sizeof *specialiser->items);
    struct source_copy *copy = specialiser ? source_copy(source) : NULL;
    if (!copy) {
        mem_release(specialiser,
                    sizeof *specialiser + count * sizeof *specialiser->items);
        return NULL;
    }
    specialiser->copy = copy;
    specialiser->table = table;
    specialiser->count = count;
    for (size_t i = 0; i < count; i++) {
        specialiser->items[i].owner = specialiser;
        specialiser->items[i].kernel = object_file_kernel(table, i);
    }
    return specialiser;
}

struct specialised *specialiser_find(struct specialiser *specialiser,
                              const rnl_cpu_kernel *kernel)
{
    for (size_t i = 0; specialiser && i < specialiser->count; i++)
        if (specialiser->items[i].kernel == kernel)
            return kernel->run_blocks ? &specialiser->items[i] : NULL;
    return NULL;
}

// Takes the kernels out of the queue; true if one is being compiled.
static bool take_back(const struct specialiser *specialiser)
{
    maker_lock();
    for (struct specialised **link = &maker.first; *link;)
        if ((*link)->owner == specialiser)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    bool busy = maker.current && maker.current->owner == specialiser;
    if (busy)
        atomic_store(&maker.stop, true);
    lock_give(&maker.lock);
    return busy;
}

void specialiser_close(struct specialiser *specialiser)
{
    if (!specialiser)
        return;
    for (;;) {
        uint32_t seen = atomic_load(&maker.finished);
        if (!take_back(specialiser))
            break;
        futex_wait(&maker.finished, seen, RNL_FOREVER);
    }
    maker_join();
    for (size_t i = 0; i < specialiser->count; i++)
        if (specialiser->items[i].fixed)
            object_file_unload(&specialiser->items[i].object);
    source_copy_free(specialiser->copy);
    mem_release(specialiser, sizeof *specialiser + specialiser->count *
                                                 sizeof *specialiser->items);
}

unsigned specialiser_drain(void)
{
    for (;;) {
        uint32_t seen = atomic_load(&maker.finished);
        if (maker_join())
            break;
        futex_wait(&maker.finished, seen, RNL_FOREVER);
    }
    return atomic_load(&maker.made);
}

// The end of the process, or of the library, does not wait for a compiler.
__attribute__((destructor)) static void close_maker(void)
{
    maker_lock();
    maker.closed = true;
    maker.first = NULL;
    atomic_store(&maker.stop, true);
    bool join = maker.joinable;
    maker.joinable = false;
    lock_give(&maker.lock);
    if (join)
        pthread_join(maker.thread, NULL);
}
