#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Only what happens in here is counted: the name is known to guard.sh.
__attribute__((noinline)) rnl_status
guard_run(rnl_status (*run)(const setup *), const setup *with, long count);

rnl_status guard_run(rnl_status (*run)(const setup *), const setup *with,
                     long count)
{
    rnl_status status = RNL_OK;
    for (long i = 0; i < count && !status; i++)
        status = run(with);
    return status;
}

struct turn {
    rnl_status (*run)(const setup *);
    const setup *with;
    long count;
    rnl_status status;
};

static void *take_turn(void *opaque)
{
    struct turn *turn = opaque;
    turn->status = guard_run(turn->run, turn->with, turn->count);
    return NULL;
}

static rnl_status run_second(struct turn turn)
{
    pthread_t thread;
    rnl_status status = turn.run(turn.with);
    if (status)
        return status;
    if (pthread_create(&thread, NULL, take_turn, &turn))
        return RNL_ERROR_OUT_OF_MEMORY;
    pthread_join(thread, NULL);
    return turn.status;
}

static rnl_status run(const guard_operation *operation, setup *with,
                      long count)
{
    struct turn turn = {operation->run, with, count, RNL_OK};
    rnl_status status = operation->before ? operation->before(with) : RNL_OK;
    if (!status)
        status = operation->second ? run_second(turn)
                                   : guard_run(turn.run, with, count);
    if (!status && operation->after)
        status = operation->after(with);
    return status;
}

static int list(const guard_program *program)
{
    for (size_t i = 0; i < program->count; i++)
        puts(program->operations[i].name);
    return 0;
}

int guard_main(const guard_program *program, int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "--list") == 0)
        return list(program);
    for (size_t i = 0; i < program->count; i++) {
        const guard_operation *operation = &program->operations[i];
        if (count != 3 || strcmp(arguments[1], operation->name))
            continue;
        rnl_status status = program->open(program->with);
        if (!status)
            status = run(operation, program->with, atol(arguments[2]));
        if (status)
            fprintf(stderr, "%s: %s\n", arguments[0],
                    rnl_last_error()->message);
        program->close(program->with);
        return status ? 1 : 0;
    }
    fprintf(stderr, "%s: unknown operation\n", arguments[0]);
    return 2;
}
