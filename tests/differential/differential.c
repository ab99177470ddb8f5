// Random kernels on both sides: see generate.h. Kernel number i of a run has
// the seed S + i, so that `--seed S+i --count 1` makes it alone, with the same
// shapes. What fails is made smaller as long as it fails, and printed.
//
// usage: differential [--seed S] [--count N] [--shapes 32,7x5x3,…] [--print]
//                     [--first OPTION]… [--second OPTION]… [--no-shrink]
//                     [--second-device cuda:0]
//
// Sides have the options --tier=F and --tier=B-or-F when none is given, but for
// another device, which has no tiers.
// All of Runnel runs in child processes, so that a crash is a result, too.
#include "generate.h"
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    KERNELS_MAX = 24,  // in a module
    SHAPES_MAX = 12,
    SHAPES_RUN = 6,   // of each kernel, in turn
    TRIAL_SECONDS = 300,
    SHRINK_SECONDS = 60,
    SHRINKS_MAX = 400,
};

struct settings {
    uint64_t seed, count;
    struct side sides[SIDES];
    rnl_dim3 shapes[SHAPES_MAX];
    rnl_dim3 lines[SHAPES_MAX];  // of kernels that know one axis
    size_t shape_count;
    bool all_axes;  // no shape is a line
    bool print, shrink;
};

// What a child finds out, in memory that it shares with its parent.
struct trial {
    struct verdict verdict;
    size_t kernel;  // that was run last
    rnl_dim3 block;
};

static struct trial *trial;

// --- Trials ----------------------------------------------------------------

// The kernel's `limit` and `stride`: see generate.h.
static void choose_arguments(struct launch *launch, uint64_t number)
{
    int across = (int)(launch->grid.x * launch->block.x);
    const int limits[] = {0, across, across + 1, 4 * across, 1,
                          across - 1, 3 * across - across / 2, across / 2};
    int limit = limits[number % (sizeof limits / sizeof *limits)];
    const int idle[] = {0, -across, across};
    const int strides[] = {across, limit / 3 + 1, across + 1};
    launch->more[0] = limit;
    launch->more[1] = (limit ? strides : idle)[number / 5 % 3];
    launch->more_count = 2;
}

static struct launch launch_of(const struct kernel *kernel, rnl_dim3 block,
                               size_t number)
{
    static const rnl_dim3 grids[] = {{3, 1, 1}, {2, 2, 1}, {7, 1, 1},
                                     {1, 1, 1}};
    rnl_dim3 grid = grids[kernel->seed % (sizeof grids / sizeof *grids)];
    size_t threads = (size_t)block.x * block.y * block.z * grid.x * grid.y;
    struct launch launch = {.element = ELEMENT_INT,
                            .grid = grid,
                            .block = block,
                            .shared = KERNEL_SHARED,
                            .count = threads * KERNEL_SLOTS + KERNEL_ATOMICS};
    choose_arguments(&launch, kernel->seed + number);
    return launch;
}

static bool run_shapes(const struct settings *settings,
                       struct comparison *comparison,
                       const struct kernel *kernel)
{
    size_t shapes = settings->shape_count < SHAPES_RUN ? settings->shape_count
                                                       : SHAPES_RUN;
    for (size_t i = 0; i < shapes; i++) {
        size_t turn = (i + kernel->seed) % settings->shape_count;
        trial->block = kernel->one_axis ? settings->lines[turn]
                                        : settings->shapes[turn];
        struct launch launch = launch_of(kernel, trial->block, i);
        if (!comparison_run(comparison, kernel->name, &launch))
            return false;
    }
    return true;
}

static void run_child(const struct settings *settings,
                      const struct kernel *kernels, size_t count)
{
    char *source = kernel_module(kernels, count);
    struct comparison comparison;
    bool right = comparison_open(&comparison, source, settings->sides);
    for (size_t i = 0; right && i < count; i++) {
        trial->kernel = i;
        right = run_shapes(settings, &comparison, &kernels[i]);
    }
    trial->verdict = comparison.verdict;
    comparison_close(&comparison);
    free(source);
}

static enum outcome crashed(int status)
{
    trial->verdict.outcome = OUTCOME_CRASHED;
    snprintf(trial->verdict.message, sizeof trial->verdict.message,
             WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                 ? "does not end, block %ux%ux%u"
                 : "crashes, block %ux%ux%u",
             trial->block.x, trial->block.y, trial->block.z);
    return OUTCOME_CRASHED;
}

// Compiles the kernels as one module and runs them until one fails.
static enum outcome try(const struct settings *settings,
                        const struct kernel *kernels, size_t count,
                        unsigned seconds)
{
    *trial = (struct trial){0};
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        run_child(settings, kernels, count);
        fflush(NULL);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("differential");
        exit(2);
    }
    return status ? crashed(status) : trial->verdict.outcome;
}

// --- Shrinking -------------------------------------------------------------

struct shrink {
    const struct settings *settings;
    struct kernel *kernel;
    enum outcome outcome;  // to be kept
    int trials;
    bool changed;
};

static bool still_fails(struct shrink *shrink)
{
    if (shrink->trials++ >= SHRINKS_MAX)
        return false;
    return try(shrink->settings, shrink->kernel, 1, SHRINK_SECONDS) ==
           shrink->outcome;
}

// Sets `*flag` for good if the kernel fails with it, too.
static void shrink_by(struct shrink *shrink, bool *flag)
{
    *flag = true;
    if (still_fails(shrink))
        shrink->changed = true;
    else
        *flag = false;
}

static void shrink_list(struct shrink *shrink, struct statement *statement)
{
    for (; statement; statement = statement->next) {
        if (statement->dropped)
            continue;
        shrink_by(shrink, &statement->dropped);
        if (statement->dropped)
            continue;
        if (statement->first && !statement->opened)
            shrink_by(shrink, &statement->opened);
        shrink_list(shrink, statement->first);
    }
}

static void shrink_kernel(const struct settings *settings,
                          struct kernel *kernel, enum outcome outcome)
{
    struct shrink shrink = {settings, kernel, outcome, 0, true};
    while (shrink.changed && shrink.trials < SHRINKS_MAX) {
        shrink.changed = false;
        shrink_list(&shrink, kernel->body);
    }
    printf("made smaller in %d trials\n", shrink.trials);
}

// --- Modules ---------------------------------------------------------------

static void print_kernel(const struct kernel *kernel)
{
    char *source = kernel_module(kernel, 1);
    printf("%s", source);
    free(source);
}

// Runs one kernel alone. True if it is right.
static bool examine(const struct settings *settings, struct kernel *kernel)
{
    enum outcome outcome = try(settings, kernel, 1, TRIAL_SECONDS);
    if (outcome == OUTCOME_SAME)
        return true;
    printf("seed %llu: %s\n", (unsigned long long)kernel->seed,
           trial->verdict.message);
    if (settings->shrink) {
        if (outcome != OUTCOME_INVALID)
            shrink_kernel(settings, kernel, outcome);
        print_kernel(kernel);
        try(settings, kernel, 1, TRIAL_SECONDS);
        printf("seed %llu, made smaller: %s\n",
               (unsigned long long)kernel->seed, trial->verdict.message);
    }
    return false;
}

// Returns how many of the kernels are wrong; when together they fail but each
// alone does not, that counts as one.
static size_t run_module(const struct settings *settings,
                         struct kernel *kernels, size_t count)
{
    if (try(settings, kernels, count, TRIAL_SECONDS) == OUTCOME_SAME)
        return 0;
    struct verdict together = trial->verdict;
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += !examine(settings, &kernels[i]);
    if (wrong)
        return wrong;
    printf("only together: %s\n", together.message);
    return 1;
}

static void print_all(const struct kernel *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_kernel(&kernels[i]);
}

static void report(uint64_t first, uint64_t count, size_t wrong, time_t start)
{
    printf("seeds %llu to %llu: %zu wrong, %lld s\n",
           (unsigned long long)first, (unsigned long long)(first + count - 1),
           wrong, (long long)(time(NULL) - start));
    fflush(stdout);
}

static size_t run_all(const struct settings *settings)
{
    struct kernel kernels[KERNELS_MAX];
    size_t wrong = 0;
    time_t start = time(NULL);
    for (uint64_t done = 0; done < settings->count; done += KERNELS_MAX) {
        size_t count = settings->count - done < KERNELS_MAX
                           ? (size_t)(settings->count - done)
                           : KERNELS_MAX;
        for (size_t i = 0; i < count; i++)
            kernel_generate(&kernels[i], settings->seed + done + i,
                            settings->all_axes);
        if (settings->print)
            print_all(kernels, count);
        else
            wrong += run_module(settings, kernels, count);
        for (size_t i = 0; i < count; i++)
            kernel_free(&kernels[i]);
        if (!settings->print)
            report(settings->seed, done + count, wrong, start);
    }
    return wrong;
}

// --- Command line ----------------------------------------------------------

static void usage(void)
{
    fprintf(stderr, "usage: differential [--seed S] [--count N] "
                    "[--shapes 32,7x5x3] [--print] [--no-shrink]\n"
                    "                    [--first OPTION] [--second OPTION]\n");
    exit(2);
}

static size_t parse_list(const char *text, rnl_dim3 shapes[SHAPES_MAX])
{
    size_t count = 0;
    while (*text && count < SHAPES_MAX) {
        rnl_dim3 shape = {1, 1, 1};
        if (sscanf(text, "%ux%ux%u", &shape.x, &shape.y, &shape.z) < 1 ||
            shape.x * shape.y * shape.z - 1 >= 256)
            usage();
        shapes[count++] = shape;
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return count;
}

static void parse_shapes(struct settings *settings, const char *text)
{
    settings->shape_count = parse_list(text, settings->shapes);
    settings->all_axes = true;
    for (size_t i = 0; i < settings->shape_count; i++) {
        rnl_dim3 shape = settings->shapes[i];
        settings->lines[i] = (rnl_dim3){shape.x * shape.y * shape.z, 1, 1};
        settings->all_axes &= shape.y * shape.z > 1;
    }
}

static void add_option(struct side *side, const char *option)
{
    if (side->count == sizeof side->options / sizeof *side->options)
        usage();
    side->options[side->count++] = option;
}

// What is asked for by nothing else: tier F against B, wherever that can be.
static void complete_sides(struct settings *settings)
{
    static const char *const tiers[SIDES] = {"--tier=F", "--tier=B-or-F"};
    for (int i = 0; i < SIDES; i++) {
        if (!settings->sides[i].count && !settings->sides[i].device)
            add_option(&settings->sides[i], tiers[i]);
        add_option(&settings->sides[i], "-w");
        add_option(&settings->sides[i], "--fmad=false");
    }
}

static void parse_valued(struct settings *settings, const char *option,
                         const char *value)
{
    if (!value)
        usage();
    if (!strcmp(option, "--seed"))
        settings->seed = strtoull(value, NULL, 0);
    else if (!strcmp(option, "--count"))
        settings->count = strtoull(value, NULL, 0);
    else if (!strcmp(option, "--shapes"))
        parse_shapes(settings, value);
    else if (!strcmp(option, "--first"))
        add_option(&settings->sides[0], value);
    else if (!strcmp(option, "--second"))
        add_option(&settings->sides[1], value);
    else if (!strcmp(option, "--second-device"))
        settings->sides[1].device = value;
    else
        usage();
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct settings settings = {.seed = 1, .count = 64, .shrink = true};
    parse_shapes(&settings, "32,256,100,16x16,7x5x3,1,33x2,8x2x16,33,32x8,"
                            "5x7x3");
    parse_list("32,256,100,16,65,1,224,40,33,7,128", settings.lines);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--print"))
            settings.print = true;
        else if (!strcmp(argv[i], "--no-shrink"))
            settings.shrink = false;
        else
            parse_valued(&settings, argv[i], argv[i + 1]), i++;
    }
    complete_sides(&settings);
    comparison_prepare(settings.sides);
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        usage();
    size_t wrong = run_all(&settings);
    printf("figure: random-kernels %llu\n", (unsigned long long)settings.count);
    return wrong != 0;
}
