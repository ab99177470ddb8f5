// Random programs against a model: see program.h. What fails is made smaller as
// long as it fails, and printed.
//
// usage: programs [--seed S] [--count N] [--repeat R] [--print] [--no-shrink]
//                 [--break] [--seconds T]
//
// Each program is run R times. All of Runnel runs in child processes, so that a
// crash, a hang or a sanitizer's report is a result, too. --break makes the
// model wrong, to see that it is found. What is not done in T seconds hangs.
#include "program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BATCH = 20,       // programs of a child
    SHRINK_RUNS = 60, // of a smaller program before it counts as right
    SHRINKS_MAX = 1500,
};

struct settings {
    uint64_t seed, count, repeat, seconds;
    bool print, shrink, broken;
};

// What a child finds out, in memory that it shares with its parent.
struct trial {
    uint64_t seed;  // of the program that was run last
    int call;       // … and its call
    bool wrong;
    char problem[512];
};

static struct trial *trial;
static struct program program;

// --- Trials ----------------------------------------------------------------

static bool run_program(uint64_t repeat)
{
    program_plan(&program);
    program.at = &trial->call;
    for (uint64_t i = 0; i < repeat; i++)
        if (!program_run(&program) || !program_check(&program))
            return problem(&program, "wrong");
    return true;
}

static void keep_problem(void)
{
    trial->wrong = true;
    snprintf(trial->problem, sizeof trial->problem, "%s", program.problem);
}

static void crashed(int status)
{
    trial->wrong = true;
    bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (!trial->problem[0])
        snprintf(trial->problem, sizeof trial->problem,
                 hangs ? "call %d does not end"
                       : "call %d crashes, status 0x%x",
                 trial->call, (unsigned)status);
}

// Calls `body` in a child; true when all is right.
static bool try(void (*body)(const void *), const void *argument,
                unsigned seconds)
{
    *trial = (struct trial){0};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        body(argument);
        if (trial->wrong) {
            fflush(NULL);
            _exit(1);
        }
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("programs");
        exit(2);
    }
    if (status)
        crashed(status);
    return !trial->wrong;
}

static void try_seeds(const void *argument)
{
    const struct settings *settings = argument;
    for (uint64_t i = 0; i < settings->count && !trial->wrong; i++) {
        alarm((unsigned)settings->seconds);
        trial->seed = settings->seed + i;
        program_generate(&program, trial->seed);
        program.broken = settings->broken;
        if (!run_program(settings->repeat))
            keep_problem();
    }
}

// The program as it is now.
static void try_again(const void *argument)
{
    if (!run_program(*(const uint64_t *)argument))
        keep_problem();
}

// --- Shrinking -------------------------------------------------------------

static bool still_fails(const struct settings *settings)
{
    uint64_t runs = SHRINK_RUNS;
    return !try(try_again, &runs, (unsigned)(settings->seconds + 2) / 3);
}

// Drops `count` steps from `first` on, if it fails without them, too.
static bool drop(const struct settings *settings, int first, int count)
{
    bool before[STEPS];
    bool any = false;
    for (int i = first; i < first + count && i < program.step_count; i++) {
        before[i] = program.steps[i].dropped;
        any |= !before[i];
        program.steps[i].dropped = true;
    }
    if (!any || still_fails(settings))
        return any;
    for (int i = first; i < first + count && i < program.step_count; i++)
        program.steps[i].dropped = before[i];
    return false;
}

static void shrink(const struct settings *settings)
{
    int trials = 0;
    for (int size = program.step_count / 2; size > 0;) {
        bool any = false;
        for (int i = program.step_count - 1; i >= 0; i -= size) {
            int first = i - size + 1 < 0 ? 0 : i - size + 1;
            any |= trials++ < SHRINKS_MAX &&
                   drop(settings, first, i - first + 1);
        }
        if (!any || size > 1)
            size /= 2;
    }
    printf("made smaller in %d trials\n", trials);
}

static void examine(const struct settings *settings, uint64_t seed)
{
    printf("seed %llu: %s\n", (unsigned long long)seed, trial->problem);
    if (!settings->shrink)
        return;
    program_generate(&program, seed);
    program.broken = settings->broken;
    if (!still_fails(settings))
        printf("it does not fail again in %d runs\n", SHRINK_RUNS);
    else
        shrink(settings);
    program_plan(&program);
    program_print(&program);
    if (still_fails(settings))
        printf("seed %llu, made smaller: %s\n", (unsigned long long)seed,
               trial->problem);
}

// --- All -------------------------------------------------------------------

static unsigned run_all(const struct settings *settings)
{
    struct settings batch = *settings;
    uint64_t end = settings->seed + settings->count;
    unsigned wrong = 0;
    while (batch.seed < end) {
        uint64_t left = end - batch.seed;
        batch.count = left < BATCH ? left : BATCH;
        if (try(try_seeds, &batch, (unsigned)settings->seconds)) {
            batch.seed += batch.count;
            continue;
        }
        wrong++;
        batch.seed = trial->seed + 1;
        examine(settings, trial->seed);
    }
    return wrong;
}

static void print_all(const struct settings *settings)
{
    for (uint64_t i = 0; i < settings->count; i++) {
        program_generate(&program, settings->seed + i);
        program_plan(&program);
        program_print(&program);
    }
}

static void usage(void)
{
    fprintf(stderr, "usage: programs [--seed S] [--count N] [--repeat R] "
                    "[--print] [--no-shrink] [--break] [--seconds T]\n");
    exit(2);
}

static void parse_valued(struct settings *settings, const char *option,
                         const char *value)
{
    uint64_t number = value ? strtoull(value, NULL, 0) : 0;
    if (!value)
        usage();
    if (!strcmp(option, "--seed"))
        settings->seed = number;
    else if (!strcmp(option, "--count"))
        settings->count = number;
    else if (!strcmp(option, "--repeat"))
        settings->repeat = number;
    else if (!strcmp(option, "--seconds"))
        settings->seconds = number;
    else
        usage();
}

int main(int argc, char **argv)
{
    struct settings settings = {.seed = 1, .count = 100, .repeat = 1,
                                .seconds = 60, .shrink = true};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--print"))
            settings.print = true;
        else if (!strcmp(argv[i], "--no-shrink"))
            settings.shrink = false;
        else if (!strcmp(argv[i], "--break"))
            settings.broken = true;
        else
            parse_valued(&settings, argv[i], argv[i + 1]), i++;
    }
    if (settings.print) {
        print_all(&settings);
        return 0;
    }
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        usage();
    unsigned wrong = run_all(&settings);
    printf("seeds %llu to %llu: %u wrong\n", (unsigned long long)settings.seed,
           (unsigned long long)(settings.seed + settings.count - 1), wrong);
    printf("figure: random-programs %llu\n",
           (unsigned long long)settings.count);
    return wrong != 0;
}
