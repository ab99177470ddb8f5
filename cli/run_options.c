// The command line of `runnel run`.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run.h"

enum { MAX_REPEAT = 1000000, MAX_ARGUMENTS = 1024 };

enum {
    OPTION_CLUSTER = 256,
    OPTION_STD,
    OPTION_REPEAT,
    OPTION_TIMEOUT,
    OPTION_DUMP_ASSEMBLY,
    OPTION_DUMP_IR,
    OPTION_DUMP_MACHINE,
    OPTION_JSON,
};

static const struct option long_options[] = {
    {"function", required_argument, NULL, 'f'},
    {"grid", required_argument, NULL, 'g'},
    {"block", required_argument, NULL, 'b'},
    {"cluster", required_argument, NULL, OPTION_CLUSTER},
    {"shared", required_argument, NULL, 's'},
    {"arg", required_argument, NULL, 'a'},
    {"print", required_argument, NULL, 'p'},
    {"device", required_argument, NULL, 'd'},
    {"repeat", required_argument, NULL, 'n'},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"define", required_argument, NULL, 'D'},
    {"include", required_argument, NULL, 'I'},
    {"std", required_argument, NULL, OPTION_STD},
    {"compiler-option", required_argument, NULL, 'X'},
    {"dump-assembly", required_argument, NULL, OPTION_DUMP_ASSEMBLY},
    {"dump-ir", required_argument, NULL, OPTION_DUMP_IR},
    {"dump-machine", required_argument, NULL, OPTION_DUMP_MACHINE},
    {"list", no_argument, NULL, 'l'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

// The sentence for a value that was not understood.
static int check_value(const char *option, const char *value,
                       const char *problem)
{
    if (!problem)
        return EXIT_OK;
    return complain_usage("%s '%s' %s", option, value, problem);
}

static int add_compiler_option(struct run_options *options, const char *prefix,
                               const char *text)
{
    options->compiles = true;
    return words_add(&options->compiler, prefix, text);
}

static int add_argument(struct run_options *options, const char *text)
{
    if (options->argument_count == MAX_ARGUMENTS)
        return complain_usage("there are more than %d arguments",
                              MAX_ARGUMENTS);
    struct argument *argument = &options->arguments[options->argument_count];
    const char *problem = argument_parse(text, argument);
    if (!problem)
        options->argument_count++;
    return check_value("argument", text, problem);
}

static int add_range(struct run_options *options, const char *text)
{
    struct print_range *range = &options->ranges[options->range_count];
    const char *problem = parse_range(text, range);
    if (!problem)
        options->range_count++;
    return check_value("--print", text, problem);
}

static int read_repeat(struct run_options *options, const char *text)
{
    const char *problem = parse_unsigned(text, MAX_REPEAT, &options->repeat);
    if (!problem && options->repeat == 0)
        problem = "is no number of launches";
    return check_value("--repeat", text, problem);
}

static int read_timeout(struct run_options *options, const char *text)
{
    double seconds = 0;
    const char *problem = parse_real(text, &seconds);
    // A thousand years fit in 64 bits of nanoseconds no more.
    if (!problem && !(seconds > 0 && seconds <= 1e9))
        problem = "is not a number of seconds";
    if (!problem)
        options->timeout_ns = (uint64_t)(seconds * 1e9);
    return check_value("--timeout", text, problem);
}

static int read_launch_option(struct run_options *options, int letter)
{
    switch (letter) {
    case 'g':
        return check_value("--grid", optarg,
                           parse_dim3(optarg, &options->grid));
    case 'b':
        return check_value("--block", optarg,
                           parse_dim3(optarg, &options->block));
    case OPTION_CLUSTER:
        return check_value("--cluster", optarg,
                           parse_dim3(optarg, &options->cluster));
    case 's':
        return check_value("--shared", optarg,
                           parse_size(optarg, &options->shared_size));
    case 'n':
        return read_repeat(options, optarg);
    default:
        return read_timeout(options, optarg);
    }
}

static int read_dump(struct run_options *options, const char **place)
{
    if (!optarg[0])
        return complain_usage("a dump needs a path, or - for standard output");
    options->compiles = true;
    *place = optarg;
    return EXIT_OK;
}

static int read_option(struct run_options *options, int letter)
{
    struct dump *dump = &options->dump;
    switch (letter) {
    case 'f': options->function = optarg; return EXIT_OK;
    case 'd': options->device = optarg; return EXIT_OK;
    case 'l': options->list = true; return EXIT_OK;
    case OPTION_DUMP_ASSEMBLY: return read_dump(options, &dump->assembly);
    case OPTION_DUMP_IR: return read_dump(options, &dump->ir);
    case OPTION_DUMP_MACHINE: return read_dump(options, &dump->machine);
    case OPTION_JSON: options->json = true; return EXIT_OK;
    case 'a': return add_argument(options, optarg);
    case 'p': return add_range(options, optarg);
    case 'D': return add_compiler_option(options, "-D", optarg);
    case 'I': return add_compiler_option(options, "-I", optarg);
    case 'X': return add_compiler_option(options, "", optarg);
    case OPTION_STD: return add_compiler_option(options, "-std=", optarg);
    case '?': return EXIT_USAGE;
    default: return read_launch_option(options, letter);
    }
}

// Whether nothing was said about a launch.
static bool is_bare(const struct run_options *options)
{
    return !options->function && !options->grid.x && !options->block.x &&
           options->argument_count == 0;
}

// The checks that need all options.
static int check_options(struct run_options *options)
{
    if (options->json && dump_prints(&options->dump))
        return complain_usage("a dump and --json cannot both go to standard "
                              "output");
    options->list |= is_bare(options);
    if (options->list)
        return EXIT_OK;
    if (!options->function)
        return complain_usage("the kernel's name is missing (--function)");
    if (!options->grid.x)
        return complain_usage("the number of blocks is missing (--grid)");
    if (!options->block.x)
        return complain_usage("the threads of a block are missing (--block)");
    for (size_t i = 0; i < options->range_count; i++) {
        const struct print_range *range = &options->ranges[i];
        if (!range->one_argument)
            continue;
        if (range->argument >= options->argument_count ||
            !options->arguments[range->argument].is_buffer)
            return complain_usage("--print asks for argument %zu, which is "
                                  "no buffer", range->argument + 1);
        size_t count = options->arguments[range->argument].count;
        if (range->end > count)
            return complain_usage("--print asks for element %zu of argument "
                                  "%zu, which has %zu elements",
                                  range->end - 1, range->argument + 1, count);
    }
    return EXIT_OK;
}

static int read_all(struct run_options *options, int argc, char **argv,
                    bool *out_done)
{
    int letter, code = EXIT_OK;
    while (code == EXIT_OK &&
           (letter = next_option(argc, argv, ":f:g:b:s:a:p:d:n:D:I:X:lh",
                                 long_options)) != -1) {
        if (letter == 'h') {
            *out_done = true;
            return help_print("run");
        }
        code = read_option(options, letter);
    }
    if (code != EXIT_OK)
        return code;
    if (optind >= argc)
        return complain_usage("the kernel file is missing");
    options->file = argv[optind];
    if (optind + 1 < argc)
        return complain_usage("'%s' is not expected here", argv[optind + 1]);
    code = check_options(options);
    if (code == EXIT_OK)
        code = words_add_own_folder(&options->compiler, options->file);
    return code;
}

int run_options_read(struct run_options *options, int argc, char **argv,
                     bool *out_done)
{
    // No option can be given more often than there are words.
    size_t most = (size_t)argc;
    *options = (struct run_options){.repeat = 1, .timeout_ns = RNL_FOREVER};
    *out_done = false;
    options->arguments = calloc(most, sizeof *options->arguments);
    options->ranges = calloc(most, sizeof *options->ranges);
    if (!options->arguments || !options->ranges) {
        complain("there is no memory left");
        return EXIT_FAILED;
    }
    return read_all(options, argc, argv, out_done);
}

void run_options_free(struct run_options *options)
{
    words_free(&options->compiler);
    free(options->arguments);
    free(options->ranges);
}
