// Steps from a seed, or from bytes.
#include "program.h"

#include <string.h>

struct random {
    uint64_t state;
    const uint8_t *bytes;  // taken instead, if not NULL; zeros behind the end
    size_t left;
};

static uint64_t take_bytes(struct random *random, int count)
{
    uint64_t taken = 0;
    for (; count > 0; count--) {
        taken = taken << 8 | (random->left ? *random->bytes++ : 0);
        random->left -= random->left > 0;
    }
    return taken;
}

static uint64_t random_next(struct random *random)
{
    if (random->bytes)  // few bytes, but in all places
        return take_bytes(random, 3) * 0x0001000001000001u;
    uint64_t x = random->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static unsigned below(struct random *random, unsigned limit)
{
    if (random->bytes)
        return (unsigned)take_bytes(random, 1 + (limit > 256)) % limit;
    return (unsigned)(random_next(random) >> 33) % limit;
}

// --- Work ------------------------------------------------------------------

static void make_range(struct random *random, struct work *work,
                       unsigned unit)
{
    unsigned count = 1 + below(random, 16 / unit + 1);
    unsigned most = BYTES / unit - count + 1;
    work->size = (uint8_t)(count * unit);
    work->to_offset = (uint8_t)(below(random, most) * unit);
    work->from_offset = (uint8_t)(below(random, most) * unit);
}

static enum work_kind pick_kind(struct random *random)
{
    static const enum work_kind kinds[] = {
        WORK_FILL, WORK_FILL, WORK_COPY, WORK_COPY, WORK_ADD, WORK_ADD,
        WORK_MULTIPLY, WORK_MULTIPLY, WORK_MIX, WORK_HOST, WORK_WRITE,
    };
    return kinds[below(random, sizeof kinds / sizeof *kinds)];
}

// The two ends of a copy are in different memories, so they do not overlap.
static void make_work(struct random *random, struct work *work,
                      enum work_kind kind, unsigned memories)
{
    work->kind = kind;
    if (kind != WORK_COPY)
        memories = REACHED;
    work->to = (uint8_t)below(random, memories);
    work->from = (uint8_t)((work->to + 1 + below(random, memories - 1)) %
                           memories);
    work->value = random_next(random);
    work->pattern_size = (uint8_t)(1u << below(random, 4));
    make_range(random, work, kind == WORK_FILL   ? work->pattern_size
                             : kind == WORK_COPY ? 1
                                                 : 8);
    if (kind == WORK_WRITE) {
        work->to = (uint8_t)below(random, BUFFERS);
        work->size = work->value % 2 ? 4 : 8;
    }
    if (kind != WORK_HOST)
        return;
    work->to = (uint8_t)(BUFFERS + below(random, MEMORIES - BUFFERS));
    work->size = 8;
}

static void make_body(struct random *random, struct step *step)
{
    for (int i = 0; i < BODY; i++) {
        enum work_kind kind = pick_kind(random);
        make_work(random, &step->body[i],
                  kind == WORK_HOST || kind == WORK_WRITE ? WORK_NOTHING
                                                          : kind,
                  REACHED);
    }
    step->work.kind = WORK_COUNT_DOWN;
    step->work.to = (uint8_t)below(random, BUFFERS);
    step->work.to_offset &= 0x38;
    step->work.size = 8;
}

// --- Steps -----------------------------------------------------------------

// How often each step comes; what is about failures, only where some fail.
static const uint8_t weights[STEP_KINDS] = {
    [STEP_WORK] = 60,        [STEP_RECORD] = 9,
    [STEP_WAIT] = 9,         [STEP_WAIT_STREAM] = 4,
    [STEP_WAIT_CONTEXT] = 1, [STEP_QUERY] = 3,
    [STEP_QUERY_EVENT] = 3,  [STEP_SYNCHRONIZE] = 2,
    [STEP_SYNCHRONIZE_EVENT] = 2, [STEP_RESET] = 1,
    [STEP_PROMISE_WAIT] = 4, [STEP_PROMISE_RECORD] = 5,
    [STEP_PROMISE_BREAK] = 1, [STEP_WORD_WAIT] = 3,
    [STEP_WORD_WRITE] = 4,   [STEP_FLUSH] = 1,
    [STEP_BEGIN] = 5,        [STEP_END] = 6,
    [STEP_ADD_NODE] = 10,    [STEP_ADD_CHILD] = 2,
    [STEP_ADD_BODY] = 3,     [STEP_SET_NODE] = 5,
    [STEP_CLONE] = 1,        [STEP_INSTANTIATE] = 12,
    [STEP_LAUNCH] = 24,      [STEP_UPDATE] = 6,
    [STEP_SET_EXEC_NODE] = 9, [STEP_ENABLE] = 5,
    [STEP_MISUSE] = 6,
};

static enum step_kind pick_step(struct random *random)
{
    unsigned sum = 0;
    for (int i = 0; i < STEP_KINDS; i++)
        sum += weights[i];
    unsigned at = below(random, sum);
    int kind = 0;
    while (at >= weights[kind])
        at -= weights[kind++];
    return (enum step_kind)kind;
}

static void make_step(struct random *random, struct step *step, bool failures)
{
    step->kind = pick_step(random);
    step->a = (uint8_t)below(random, STREAMS);
    step->b = (uint8_t)below(random, 240);
    step->c = (uint8_t)below(random, 240);
    step->value = random_next(random);
    bool fails = failures && below(random, 14) == 0 && machine_is_cpu();
    make_work(random, &step->work, fails ? WORK_FAIL : pick_kind(random),
              MEMORIES);
    if (step->kind == STEP_ADD_BODY)
        make_body(random, step);
    // A driver that has a graph runs it, also behind a promise that is broken.
    if ((step->kind == STEP_PROMISE_BREAK && !failures) ||
        (step->kind == STEP_LAUNCH && failures && !machine_is_cpu()))
        step->kind = STEP_WORK;
}

void program_generate(struct program *program, uint64_t seed)
{
    struct random random = {.state = seed * 0x2545f4914f6cdd1du + 77};
    memset(program, 0, sizeof *program);
    program->seed = seed;
    program->failures = seed % 3 == 2;
    program->threads = 1 + below(&random, 4);
    if (seed % 2)
        program->batched = below(&random, 1u << STREAMS);
    program->step_count = 20 + (int)below(&random, STEPS - 20);
    for (int i = 0; i < program->step_count; i++) {
        make_step(&random, &program->steps[i], program->failures);
        program->steps[i].work.id = (uint16_t)(i + 1);
    }
}

void program_decode(struct program *program, const uint8_t *bytes,
                    size_t size)
{
    struct random random = {.bytes = bytes, .left = size};
    memset(program, 0, sizeof *program);
    program->failures = below(&random, 3) == 2;
    program->threads = 1 + below(&random, 4);
    program->batched = below(&random, 1u << STREAMS);
    for (int i = 0; i < STEPS && random.left > 0; i++) {
        make_step(&random, &program->steps[i], program->failures);
        program->steps[i].work.id = (uint16_t)(i + 1);
        program->step_count = i + 1;
    }
}
