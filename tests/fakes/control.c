// What every function of the fake does first, and what tests can tell it.
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- The list of symbols --------------------------------------------------

struct symbol {
    const char *name, *suffix;
    int version;
    void *address;
};

#define SYMBOL(id, vendor, tail, since, need, why) \
    [FAKE_##id] = {#vendor, tail, since, (void *)fake_##id},
#define ADAPTED(id, vendor, tail, since, need, why, result, parameters) \
    SYMBOL(id, vendor, tail, since, need, why)

static const struct symbol symbols[FAKE_COUNT] = {
#include FAKE_SYMBOLS
#undef SYMBOL
#undef ADAPTED
};

// What no function of the table stands for.
#define OTHER(id, vendor, tail, since, need, why, result, parameters) \
    {#vendor, tail, since, NULL},
#define SYMBOL(id, vendor, tail, since, need, why)

static const struct symbol others[] = {
#include FAKE_SYMBOLS
    {"", "", 0, NULL},
#undef SYMBOL
};

const char *fake_name_of(enum fake_function function)
{
    return symbols[function].name;
}

// --- Settings -------------------------------------------------------------

static long long number_of(const char *name, long long otherwise)
{
    const char *value = getenv(name);
    return value && *value ? atoll(value) : otherwise;
}

int fake_version(void)
{
    return (int)number_of("RUNNEL_FAKE_VERSION",
                          FAKE_IS_HIP ? 60443484 : 13000);
}

int fake_device_count_now(void)
{
    long long count = number_of("RUNNEL_FAKE_DEVICES", 1);
    return count < 0 ? 0 : count > FAKE_DEVICES ? FAKE_DEVICES : (int)count;
}

uint64_t fake_device_bytes(void)
{
    return (uint64_t)number_of("RUNNEL_FAKE_MEMORY", 4LL << 30);
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (list && *list) {
        size_t size = strcspn(list, ",");
        if (size == length && strncmp(list, name, size) == 0)
            return true;
        list += size + (list[size] == ',');
    }
    return false;
}

static bool is_hidden(const char *name, int since)
{
    return since > fake_version() ||
           is_listed(getenv("RUNNEL_FAKE_HIDE"), name);
}

// --- Failing on demand ----------------------------------------------------

enum { RULES = 16, NAMES = FAKE_COUNT + 32 };

struct rule {
    char name[64];
    size_t left;    // calls until it strikes; 0: not in use
    int code;
    bool for_ever;
    size_t next;  // calls from the one that fails to another; 0: no other
};

struct meeting {
    char name[64];  // "": none
    void (*function)(void *argument);
    void *argument;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct meeting meeting;
static struct rule rules[RULES];
static size_t calls[NAMES], all_calls, failed;
static const char *names[NAMES];
static size_t name_count, misuses;
static char complaint[256];
static _Atomic bool initialised;
static _Atomic bool forked, exited;

static void rule_set(const char *name, size_t length, size_t n, int code,
                     int then)
{
    struct rule *free_rule = NULL;
    for (size_t i = 0; i < RULES; i++) {
        if (rules[i].left && strlen(rules[i].name) == length &&
            !strncmp(rules[i].name, name, length)) {
            free_rule = &rules[i];
            break;
        }
        if (!rules[i].left && !free_rule)
            free_rule = &rules[i];
    }
    if (!free_rule || length >= sizeof free_rule->name)
        return;
    memcpy(free_rule->name, name, length);
    free_rule->name[length] = '\0';
    free_rule->left = n;
    free_rule->code = code;
    free_rule->for_ever = then > 0;
    free_rule->next = then < 0 ? (size_t)-then : 0;
}

// "cuLaunchKernel:3:719,cuMemAlloc:1+:2"
static void rules_read(const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, ":,");
        char *end = NULL;
        size_t n = text[length] == ':'
                       ? strtoul(text + length + 1, &end, 10) : 0;
        bool for_ever = end && *end == '+';
        int code = end ? atoi(end + for_ever + (end[for_ever] == ':')) : 0;
        if (n && code)
            rule_set(text, length, n, code, for_ever);
        text += strcspn(text, ",");
        text += *text == ',';
    }
}

// What the real driver never refuses is not meant by "*".
static bool never_fails(const char *name)
{
    return !strcmp(name, "cuCtxGetCurrent") ||
           !strcmp(name, "cuCtxSetCurrent") ||
           !strcmp(name, "cuGetErrorName") ||
           !strcmp(name, "cuGetErrorString") ||
           !strcmp(name, "hipGetErrorName") ||
           !strcmp(name, "hipGetErrorString");
}

static bool rule_means(const struct rule *rule, const char *name)
{
    return strcmp(rule->name, "*") == 0 ? !never_fails(name)
                                        : strcmp(rule->name, name) == 0;
}

static int rules_strike_locked(const char *name)
{
    int code = 0;
    for (size_t i = 0; i < RULES; i++) {
        struct rule *rule = &rules[i];
        if (!rule->left || !rule_means(rule, name))
            continue;
        if (rule->left == 1)
            code = rule->code;
        if (rule->left > 1)
            rule->left--;
        else if (!rule->for_ever)
            rule->left = rule->next, rule->next = 0;
    }
    failed += code != 0;
    if (code && getenv("RUNNEL_FAKE_LOG"))
        fprintf(stderr, "fake driver: %s fails with %d\n", name, code);
    return code;
}

static void count_locked(const char *name)
{
    size_t i = 0;
    while (i < name_count && strcmp(names[i], name) != 0)
        i++;
    if (i == name_count && name_count < NAMES)
        names[name_count++] = name;
    if (i < NAMES)
        calls[i]++;
    all_calls++;
}

static struct meeting meet_locked(const char *name)
{
    struct meeting met = {0};
    if (strcmp(meeting.name, name) == 0) {
        met = meeting;
        meeting.name[0] = '\0';
    }
    return met;
}

static void in_child(void)
{
    atomic_store(&forked, true);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin(void)
{
    rules_read(getenv("RUNNEL_FAKE_FAIL"));
    pthread_atfork(NULL, NULL, in_child);
}

// As the real driver: exit handlers that were registered before this one run
// when it is gone.
static void at_exit(void)
{
    if (getenv("RUNNEL_FAKE_PROTECT"))
        fake_blocks_protect();
    atomic_store(&exited, true);
}

int fake_enter_named(const char *name)
{
    if (atomic_load(&forked))
        return FAKE_NOT_INITIALIZED;
    if (atomic_load(&exited))
        return FAKE_DEINITIALIZED;
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    count_locked(name);
    int code = rules_strike_locked(name);
    struct meeting met = meet_locked(name);
    pthread_mutex_unlock(&lock);
    if (met.function)
        met.function(met.argument);
    return code;
}

static bool needs_nothing(enum fake_function function)
{
    return function == FAKE_init || function == FAKE_driver_version ||
           function == FAKE_error_name || function == FAKE_error_text;
}

// From 13.0 on the driver knows the context by the stream or event.
#define VERSION_HANDLES 13000

static bool loses_device(int code)
{
    return code == FAKE_ILLEGAL_ADDRESS || code == FAKE_LAUNCH_TIMEOUT ||
           code == FAKE_LAUNCH_FAILED;
}

// A device that is lost writes no more memory, and waits for none. The work
// that it was given before ends first, unless a test holds it; then it is
// cancelled. Calls of no context may be about any.
static void settle_lost(const struct fake_object *of)
{
    enum { LONGEST_NS = 50000000 };
    const struct fake_context *called = of ? of->context : fake_current();
    for (int i = 0; i < FAKE_DEVICES; i++) {
        const struct fake_context *context = fake_context_of(i);
        if ((called && called != context) || !context->inner)
            continue;
        if (rnl_context_synchronize(context->inner, LONGEST_NS) != RNL_OK)
            fake_cancel_streams(context);
    }
}

static _Thread_local const char *called_as;

void fake_enter_as(const char *name)
{
    called_as = name;
}

// As the functions of HIP do by themselves.
static int initialise(void)
{
    if (fake_device_count_now() == 0)
        return FAKE_NO_DEVICE;
    if (!atomic_exchange(&initialised, true))
        atexit(at_exit);
    return FAKE_OK;
}

static int enter(enum fake_function function, const struct fake_object *of,
                 struct fake_context **out_context)
{
    const char *as = called_as;
    called_as = NULL;
    int code = fake_enter_named(as ? as : symbols[function].name);
    if (code) {
        if (loses_device(code))
            settle_lost(of);
        return code;
    }
    if (!as && is_hidden(symbols[function].name, symbols[function].version))
        fake_misuse("%s was called, which this driver does not have",
                    symbols[function].name);
    if (!initialised && !needs_nothing(function))
        code = FAKE_IS_HIP ? initialise() : FAKE_NOT_INITIALIZED;
    if (code)
        return code;
    if (!out_context)
        return FAKE_OK;
    *out_context = of ? of->context : fake_current();
    if (!*out_context)
        return FAKE_INVALID_CONTEXT;
    return (*out_context)->references ? atomic_load(&(*out_context)->sticky)
                                      : FAKE_DESTROYED;
}

int fake_enter(enum fake_function function, struct fake_context **out_context)
{
    return enter(function, NULL, out_context);
}

int fake_enter_for(enum fake_function function, enum fake_kind kind,
                   const void *handle, struct fake_context **out_context)
{
    bool suffices = handle && fake_version() >= VERSION_HANDLES;
    return enter(function, suffices ? fake_find(kind, handle) : NULL,
                 out_context);
}

int fake_enter_release(enum fake_function function,
                       struct fake_context **out_context)
{
    int code = fake_enter(function, out_context);
    if (!initialised || atomic_load(&forked) || atomic_load(&exited))
        *out_context = NULL;
    else
        *out_context = fake_current();
    if (*out_context && !(*out_context)->references)
        *out_context = NULL;
    return code;
}

int fake_init(unsigned flags)
{
    int code = fake_enter(FAKE_init, NULL);
    if (code)
        return code;
    if (flags)
        return FAKE_INVALID_VALUE;
    return initialise();
}

int fake_driver_version(int *out_version)
{
    int code = fake_enter(FAKE_driver_version, NULL);
    if (!code)
        *out_version = fake_version();
    return code;
}

// --- Words ----------------------------------------------------------------

struct words {
    int code;
    const char *name, *text;
};

static const struct words words[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
     "peer access has not been enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE",
     "invalid cluster size specified"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const struct words *words_find(int code)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == code)
            return &words[i];
    return NULL;
}

int fake_error_name(int code, const char **out_text)
{
    const struct words *found = words_find(code);
    *out_text = found ? found->name : NULL;
    return found ? FAKE_OK : FAKE_INVALID_VALUE;
}

int fake_error_text(int code, const char **out_text)
{
    const struct words *found = words_find(code);
    *out_text = found ? found->text : NULL;
    return found ? FAKE_OK : FAKE_INVALID_VALUE;
}

// --- Finding functions ----------------------------------------------------

FAKE_EXPORT int cuGetProcAddress_v2(const char *name, void **out_address,
                                    int version, uint64_t flags,
                                    int *out_status);
FAKE_EXPORT int cuGetProcAddress(const char *name, void **out_address,
                                 int version, uint64_t flags);

int cuGetProcAddress_v2(const char *name, void **out_address, int version,
                        uint64_t flags, int *out_status)
{
    (void)flags;
    int status = 1;  // not found
    *out_address = NULL;
    for (int i = 0; i < FAKE_COUNT; i++) {
        if (!symbols[i].name || strcmp(symbols[i].name, name) != 0 ||
            is_hidden(name, symbols[i].version))
            continue;
        status = symbols[i].version > version ? 2 : 0;  // 2: too old a version
        *out_address = status ? NULL : symbols[i].address;
    }
    if (out_status)
        *out_status = status;
    return status && !out_status ? FAKE_NOT_FOUND : FAKE_OK;
}

int cuGetProcAddress(const char *name, void **out_address, int version,
                     uint64_t flags)
{
    return cuGetProcAddress_v2(name, out_address, version, flags, NULL);
}

bool fake_hides(const char *exported);

// Whether dlsym must not find it, by its full name.
bool fake_hides(const char *exported)
{
    int version = fake_version();
    if (!strcmp(exported, "cuGetProcAddress_v2"))
        return is_hidden(exported, 12000);
    if (!strcmp(exported, "cuGetProcAddress"))
        return is_hidden(exported, 11030);
    for (int i = 0; i < FAKE_COUNT; i++) {
        char full[80];
        if (!symbols[i].name)
            continue;
        snprintf(full, sizeof full, "%s%s", symbols[i].name,
                 symbols[i].suffix);
        if (!strcmp(full, exported))
            return version < symbols[i].version ||
                   is_hidden(symbols[i].name, 0) || is_hidden(full, 0);
    }
    for (const struct symbol *other = others; other->name[0]; other++)
        if (!strcmp(other->name, exported) && version < other->version)
            return true;
    return is_listed(getenv("RUNNEL_FAKE_HIDE"), exported);
}

// --- For tests ------------------------------------------------------------

void fake_misuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    misuses++;
    vsnprintf(complaint, sizeof complaint, format, arguments);
    if (getenv("RUNNEL_FAKE_LOG"))
        fprintf(stderr, "fake driver: %s\n", complaint);
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

#define CONTROL(name) \
    FAKE_EXPORT fake_##name##_fn fake_control_##name;
CONTROL(live)
CONTROL(fail)
CONTROL(meet)
CONTROL(calls)
CONTROL(break)
CONTROL(capture)
CONTROL(image)
CONTROL(complaint)
CONTROL(attributes)
#undef CONTROL

size_t fake_leaks(void);

void fake_control_live(struct fake_live *out_live)
{
    *out_live = (struct fake_live){
        .streams = fake_count(KIND_STREAM),
        .events = fake_count(KIND_EVENT),
        .modules = fake_count(KIND_MODULE),
        .graphs = fake_count(KIND_GRAPH),
        .execs = fake_count(KIND_EXEC),
        .leaked = fake_leaks(),
    };
    pthread_mutex_lock(&lock);
    out_live->misuses = misuses;
    out_live->packed = atomic_load(&fake_packed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < FAKE_DEVICES; i++)
        out_live->contexts += fake_context_of(i)->references;
    fake_blocks_count(&out_live->blocks, &out_live->bytes);
}

void fake_control_fail(const char *name, size_t n, int code, int then)
{
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    rule_set(name, strlen(name), n, code, then);
    pthread_mutex_unlock(&lock);
}

void fake_control_meet(const char *name, void (*function)(void *argument),
                       void *argument)
{
    pthread_mutex_lock(&lock);
    meeting.function = function;
    meeting.argument = argument;
    snprintf(meeting.name, sizeof meeting.name, "%s", name);
    pthread_mutex_unlock(&lock);
}

size_t fake_control_calls(const char *name)
{
    pthread_mutex_lock(&lock);
    size_t count = strcmp(name, "*") ? 0 : all_calls;
    for (size_t i = 0; i < name_count; i++)
        if (!strcmp(names[i], name))
            count = calls[i];
    pthread_mutex_unlock(&lock);
    return count;
}

size_t fake_control_failed(void)
{
    pthread_mutex_lock(&lock);
    size_t count = failed;
    pthread_mutex_unlock(&lock);
    return count;
}

void fake_control_break(int device, int code)
{
    if (code == FAKE_OK)
        fake_reopen(device);
    else
        atomic_store(&fake_context_of(device)->sticky, code);
}

int fake_control_capture(void *handle, int begins)
{
    struct fake_stream *stream = fake_find(KIND_STREAM, handle);
    return atomic_exchange(&stream->capture, begins ? FAKE_CAPTURE_ACTIVE
                                                    : FAKE_CAPTURE_NONE) ==
           FAKE_CAPTURE_ACTIVE;
}

size_t fake_control_attributes(void *out, size_t most)
{
    size_t count = fake_attribute_count;
    memcpy(out, fake_attributes,
           (count < most ? count : most) * sizeof *fake_attributes);
    return count;
}

const char *fake_control_complaint(void)
{
    return complaint;
}

void *fake_control_image(const struct fake_kernel *kernels, size_t count,
                         size_t *out_size)
{
    struct {
        char magic[8];
        uint64_t kernels, count;
    } payload = {"FAKENATV", (uintptr_t)kernels, count};
    return fake_cubin(&payload, sizeof payload, false, out_size);
}
