#include "sweep.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MOST_ROUNDS = 20000, FIRST_ROUNDS = 12 };

static _Atomic long live;  // bytes given and not taken back
static struct fault_plan plan;  // of this round
static const char *running;

static bool full(void)
{
    const char *value = getenv("RUNNEL_SWEEP");
    return value && strcmp(value, "full") == 0;
}

static void *give(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (fault_of_memory())
        return NULL;
    size_t unit = alignment < 16 ? 16 : alignment;
    void *memory = aligned_alloc(unit, (size + unit) / unit * unit);
    if (!memory)
        return NULL;
    atomic_fetch_add(&live, (long)size);
    // Dirty, since zeroing is the library's part.
    return memset(memory, 0xdd, size);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)user_data;
    atomic_fetch_sub(&live, (long)size);
    free(memory);
}

bool sweep_again(long *met)
{
    long before = *met;
    *met = fault_met();
    return fault_ends() && *met > before;
}

// The round, for messages.
static const char *told(void)
{
    static char text[160];
    snprintf(text, sizeof text, "%s, kinds %u, fault %ld%s, next %ld, error %d",
             running, plan.kinds, plan.first,
             plan.for_ever ? " and all behind" : "", plan.second, plan.error);
    return text;
}

void sweep_wrong(const char *what, const char *file, int line)
{
    fault_disarm();
    print_error("%s: %s\n    last error: %s\n", told(), what,
                rnl_last_error()->message);
    _fail(file, line);
}

rnl_status sweep_open(rnl_context *out_context)
{
    const char *name = test_device_name();
    char api[16];
    const char *colon = strchr(name, ':');
    snprintf(api, sizeof api, "%.*s", (int)strcspn(name, ":"), name);
    return rnl_context_open(api, colon ? strtoul(colon + 1, NULL, 10) : 0,
                            RNL_CONTEXT_OPTIONS(.threads = 2), out_context);
}

void sweep_expect_empty(void)
{
    size_t held = test_held(0);
    if (held > 0)
        fail_msg("%zu bytes are still held (%s)", held, told());
}

static bool is_documented(rnl_status status)
{
    if (status == RNL_OK)
        return true;
    if (!(plan.kinds & FAULT_SYSTEM))
        return status == RNL_ERROR_OUT_OF_MEMORY;
    return status > RNL_NOT_READY && status != RNL_ERROR_INTERNAL &&
           rnl_status_name(status)[0] == 'E';
}

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

static rnl_status make(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    const rnl_buffer_options *zeroed = RNL_BUFFER_OPTIONS(.zeroed = true);
    const rnl_buffer_options *host =
        RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST, .zeroed = true);
    TRY(sweep_open(&t->context));
    TRY(rnl_stream_create(t->context, NULL, &t->stream));
    TRY(rnl_stream_create(t->context, NULL, &t->other));
    TRY(rnl_event_create(t->context, NULL, &t->event));
    TRY(rnl_buffer_create(t->context, 256, zeroed, &t->buffer));
    TRY(rnl_buffer_create(t->context, 256, host, &t->host));
    if (status == RNL_OK &&
        rnl_context_supports(t->context, RNL_FEATURE_NATIVE_FUNCTIONS, NULL) ==
            RNL_OK)
        TRY(rnl_function_create_native(t->context, "nothing", nothing, NULL,
                                       &t->function));
    return status;
}

static rnl_status run(const struct scenario *scenario)
{
    if (scenario->run)
        return scenario->run();
    struct sweep_set t = {0};
    rnl_status status = make(&t);
    if (status == RNL_OK)
        status = scenario->with(&t);
    RELEASE(rnl_function_release(t.function));
    RELEASE(rnl_buffer_release(t.made));
    RELEASE(rnl_buffer_release(t.host));
    RELEASE(rnl_buffer_release(t.buffer));
    RELEASE(rnl_event_release(t.event));
    RELEASE(rnl_stream_release(t.stream));
    RELEASE(rnl_stream_release(t.other));
    RELEASE(rnl_context_release(t.context));
    return status;
}

// One round; false when nothing had to fail any more.
static bool round_fails(const struct scenario *scenario)
{
    rnl_last_error_clear();
    if (getenv("RUNNEL_SWEEP_TRACE"))
        fprintf(stderr, "%s\n", told());
    fault_arm(&plan);
    rnl_status status = run(scenario);
    long met = fault_disarm();
    if (!is_documented(status) || (status != RNL_OK && met == 0))
        fail_msg("%s: %s: %s", told(), rnl_status_name(status),
                 rnl_last_error()->message);
    if (status != RNL_OK && strlen(rnl_last_error()->message) < 12)
        fail_msg("%s: no sentence for %s", told(), rnl_status_name(status));
    sweep_expect_empty();
    assert_int_equal(atomic_load(&live), 0);
    return met > 0;
}

// Without faults the scenario still passes.
static void expect_unharmed(const struct scenario *scenario)
{
    plan.first = MOST_ROUNDS * 10;
    if (round_fails(scenario))
        fail_msg("%s: a scenario has too many faults", told());
}

static bool is_able(const struct scenario *scenario)
{
    rnl_context context = NULL;
    rnl_status status = sweep_open(&context);
    for (int i = 0; i < 2; i++)
        if (status == RNL_OK && scenario->needs[i])
            status = rnl_context_supports(context, scenario->needs[i], NULL);
    assert_ok(rnl_context_release(context));
    return status == RNL_OK;
}

// The next fault of a sweep: sampled, the first few and then fewer and fewer.
static long behind(long k, bool all)
{
    return all || k < FIRST_ROUNDS ? k + 1 : k + 1 + k / FIRST_ROUNDS;
}

// Returns how many rounds it took.
static long sweep_once(const struct scenario *scenario, struct fault_plan of,
                       bool all)
{
    long rounds = 0;
    plan = of;
    for (plan.first = 0; round_fails(scenario);
         plan.first = behind(plan.first, all))
        if (++rounds == MOST_ROUNDS)
            fail_msg("%s: the scenario never passes", told());
    expect_unharmed(scenario);
    return rounds;
}

// For each first fault, some or all of the second.
static long sweep_twice(const struct scenario *scenario, bool all)
{
    long pairs = 0, faults = 0;
    plan = (struct fault_plan){.kinds = FAULT_ANY, .first = MOST_ROUNDS * 10,
                               .error = EIO};
    for (;; faults++) {
        plan.second = 0;
        plan.first = faults;
        if (!round_fails(scenario))
            break;
        long gap = all ? 1 : 1 + faults % 5;
        for (plan.second = gap; plan.second <= (all ? 32 : gap);
             plan.second++, pairs++)
            if (!round_fails(scenario))
                break;
        if (!all)
            faults += faults / 4;
    }
    expect_unharmed(scenario);
    return pairs;
}

static void begin(void)
{
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = give, .release = take)));
}

static void end(void)
{
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(NULL));
    test_figure("failed-allocations", fault_total(FAULT_MEMORY));
    test_figure("failed-thread-starts", fault_total(FAULT_THREAD));
    test_figure("failed-system-calls", fault_total(FAULT_SYSTEM));
    fault_print_sites();
}

// Runs those that the device is able to.
static void sweep_all(const struct scenario *scenarios,
                      long (*sweep)(const struct scenario *scenario, bool all))
{
    begin();
    for (const struct scenario *next = scenarios; next->name; next++) {
        running = next->name;
        if (!is_able(next)) {
            printf("%s: not on this device\n", running);
            continue;
        }
        if (next->prepare)
            next->prepare();
        printf("%s: %ld rounds\n", running, sweep(next, full()));
        test_member("scenarios", running);
    }
    end();
}

static long sweep_each(const struct scenario *scenario, unsigned kinds,
                       int error, bool all)
{
    return sweep_once(scenario, (struct fault_plan){.kinds = kinds,
                                                    .error = error}, all) +
           sweep_once(scenario, (struct fault_plan){.kinds = kinds,
                                                    .error = error,
                                                    .for_ever = true}, all);
}

static long without_memory(const struct scenario *scenario, bool all)
{
    // Where contexts open and close quickly, all cost little.
    bool quick = strncmp(test_device_name(), "cpu", 3) == 0;
    return sweep_each(scenario, FAULT_MEMORY, 0, all || quick);
}

static long without_threads(const struct scenario *scenario, bool all)
{
    (void)all;  // they are few
    return sweep_each(scenario, FAULT_THREAD, 0, true);
}

static long without_system(const struct scenario *scenario, bool all)
{
    static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, EINTR, ENOENT, 0};
    static unsigned next;
    size_t count = sizeof errors / sizeof *errors;
    long rounds = 0;
    for (size_t i = 0; i < (all ? count : 1); i++) {
        int error = errors[next++ % count];
        struct fault_plan once = {.kinds = FAULT_SYSTEM, .error = error};
        rounds += sweep_once(scenario, once, all);
    }
    struct fault_plan always = {.kinds = FAULT_SYSTEM, .error = EMFILE,
                                .for_ever = true};
    return rounds + sweep_once(scenario, always, all);
}

static long without_two(const struct scenario *scenario, bool all)
{
    long pairs = sweep_twice(scenario, all);
    test_figure("fault-pairs", pairs);
    return pairs;
}

void sweep_memory(const struct scenario *scenarios)
{
    sweep_all(scenarios, without_memory);
}

void sweep_threads(const struct scenario *scenarios)
{
    sweep_all(scenarios, without_threads);
}

void sweep_system(const struct scenario *scenarios)
{
    sweep_all(scenarios, without_system);
}

void sweep_pairs(const struct scenario *scenarios)
{
    sweep_all(scenarios, without_two);
}
