// `runnel compile`: makes a binary of a kernel file, to be loaded where there
// is no compiler.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "dump.h"
#include "json.h"
#include "output.h"
#include "source.h"

// The result for a kernel; parts of the compiler's log.
struct listed_kernel {
    const char *name, *tier, *reason;
};

struct compile {
    const char *file;
    const char *target;     // NULL: this machine's processor
    bool json, untrusted;
    struct dump dump;
    const char *depfile;    // NULL: none is wanted
    struct words includes;  // files that the source includes
    char *output;           // owned
    struct words compiler, expressions;
    char *source;
    rnl_context context;
    rnl_module module;
    char *log;              // cut to pieces
    struct listed_kernel *kernels;
    size_t kernel_count;
    size_t size;            // of the binary
    uint64_t time_ns;
};

static int out_of_memory(void)
{
    complain("there is no memory left");
    return EXIT_FAILED;
}

// --- The command line -------------------------------------------------------

enum { OPTION_STD = 256, OPTION_FAST, OPTION_TIER, OPTION_TARGET, OPTION_JSON,
       OPTION_UNTRUSTED, OPTION_DEPFILE, OPTION_DUMP_ASSEMBLY,
       OPTION_DUMP_IR };

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"name-expression", required_argument, NULL, 'e'},
    {"define", required_argument, NULL, 'D'},
    {"include", required_argument, NULL, 'I'},
    {"std", required_argument, NULL, OPTION_STD},
    {"use_fast_math", no_argument, NULL, OPTION_FAST},
    {"debug", no_argument, NULL, 'G'},
    {"tier", required_argument, NULL, OPTION_TIER},
    {"target", required_argument, NULL, OPTION_TARGET},
    {"compiler-option", required_argument, NULL, 'X'},
    {"depfile", required_argument, NULL, OPTION_DEPFILE},
    {"dump-assembly", required_argument, NULL, OPTION_DUMP_ASSEMBLY},
    {"dump-ir", required_argument, NULL, OPTION_DUMP_IR},
    {"untrusted", no_argument, NULL, OPTION_UNTRUSTED},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int set_output(struct compile *compile, const char *path)
{
    free(compile->output);
    compile->output = strdup(path);
    return compile->output ? EXIT_OK : out_of_memory();
}

static int set_target(struct compile *compile, const char *name)
{
    compile->target = name;
    return words_add(&compile->compiler, "--target=", name);
}

static int set_dump(const char **place)
{
    if (!optarg[0])
        return complain_usage("a dump needs a path, or - for standard output");
    *place = optarg;
    return EXIT_OK;
}

static int set_depfile(struct compile *compile)
{
    if (!optarg[0])
        return complain_usage("--depfile needs a path");
    compile->depfile = optarg;
    return words_add(&compile->compiler, "--report-includes", "");
}

static int read_option(struct compile *compile, int letter)
{
    struct words *compiler = &compile->compiler;
    switch (letter) {
    case 'o': return set_output(compile, optarg);
    case 'e': return words_add(&compile->expressions, "", optarg);
    case 'D': return words_add(compiler, "-D", optarg);
    case 'I': return words_add(compiler, "-I", optarg);
    case 'X': return words_add(compiler, "", optarg);
    case 'G': return words_add(compiler, "-G", "");
    case OPTION_STD: return words_add(compiler, "-std=", optarg);
    case OPTION_FAST: return words_add(compiler, "--use_fast_math", "");
    case OPTION_TIER: return words_add(compiler, "--tier=", optarg);
    case OPTION_TARGET: return set_target(compile, optarg);
    case OPTION_DEPFILE: return set_depfile(compile);
    case OPTION_DUMP_ASSEMBLY: return set_dump(&compile->dump.assembly);
    case OPTION_DUMP_IR: return set_dump(&compile->dump.ir);
    case OPTION_JSON: compile->json = true; return EXIT_OK;
    case OPTION_UNTRUSTED: compile->untrusted = true; return EXIT_OK;
    default: return EXIT_USAGE;
    }
}

// "folder/axpy.cu" gives "folder/axpy.rnl".
static int choose_output(struct compile *compile)
{
    if (strcmp(compile->file, "-") == 0)
        return complain_usage("standard input has no name to make one of for "
                              "the binary (--output)");
    const char *slash = strrchr(compile->file, '/');
    const char *dot = strrchr(compile->file, '.');
    size_t length = dot && (!slash || dot > slash + 1) && dot > compile->file
                        ? (size_t)(dot - compile->file)
                        : strlen(compile->file);
    compile->output = malloc(length + sizeof ".rnl");
    if (!compile->output)
        return out_of_memory();
    memcpy(compile->output, compile->file, length);
    strcpy(compile->output + length, ".rnl");
    return EXIT_OK;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return strcmp(one, other) == 0 ||
           (stat(one, &a) == 0 && stat(other, &b) == 0 &&
            a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static int read_options(struct compile *compile, int argc, char **argv,
                        bool *out_done)
{
    int letter, code = EXIT_OK;
    while (code == EXIT_OK &&
           (letter = next_option(argc, argv, ":o:e:D:I:X:Gh",
                                 long_options)) != -1) {
        if (letter == 'h') {
            *out_done = true;
            return help_print("compile");
        }
        code = read_option(compile, letter);
    }
    if (code != EXIT_OK)
        return code;
    if (optind >= argc)
        return complain_usage("the kernel file is missing");
    compile->file = argv[optind];
    if (optind + 1 < argc)
        return complain_usage("'%s' is not expected here", argv[optind + 1]);
    if (compile->json && dump_prints(&compile->dump))
        return complain_usage("a dump and --json cannot both go to standard "
                              "output");
    if (!compile->output)
        code = choose_output(compile);
    if (code == EXIT_OK && is_same_file(compile->output, compile->file))
        return complain_usage("the binary would replace the kernel file");
    if (code == EXIT_OK)
        code = words_add(&compile->compiler, "--report-tiers", "");
    // The folder of an untrusted source is no folder of headers.
    return code || compile->untrusted
               ? code
               : words_add_own_folder(&compile->compiler, compile->file);
}

// --- Compiling --------------------------------------------------------------

static int read_source(struct compile *compile)
{
    size_t size;
    int code = source_read(compile->file, &compile->source, &size);
    if (code == EXIT_OK && strlen(compile->source) != size)
        return complain("'%s' is not a text file: it has zero bytes",
                        compile->file);
    return code;
}

static int open_context(struct compile *compile)
{
    return open_device("cpu:0", &compile->context);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int make_module(struct compile *compile)
{
    rnl_module_options options = {
        .struct_size = sizeof options,
        .name = source_name(compile->file),
        .options = (const char *const *)compile->compiler.items,
        .option_count = compile->compiler.count,
        .name_expressions = (const char *const *)compile->expressions.items,
        .name_expression_count = compile->expressions.count,
        .dump = dump_ask(&compile->dump),
        .binary_only = true,
        .untrusted = compile->untrusted,
    };
    uint64_t start = now_ns();
    rnl_status status = rnl_module_compile(compile->context, compile->source,
                                           &options, &compile->module);
    compile->time_ns = now_ns() - start;
    int code = dump_finish(&compile->dump);
    return status == RNL_OK || code != EXIT_OK ? code
                                               : complain_failure(status);
}

// --- The compiler's log -----------------------------------------------------

// "axpy.cu: remark: kernel 'axpy': tier F: why". False for other lines.
static bool take_kernel(struct compile *compile, char *line)
{
    static const char mark[] = ": remark: kernel '", middle[] = "': tier ";
    char *name = strstr(line, mark);
    char *end = name ? strstr(name, middle) : NULL;
    if (!end)
        return false;
    *end = 0;
    char *tier = end + sizeof middle - 1;
    char *reason = tier + strcspn(tier, ":");
    if (*reason) {
        *reason = 0;
        reason += strlen(": ");
    }
    compile->kernels[compile->kernel_count++] =
        (struct listed_kernel){name + sizeof mark - 1, tier, reason};
    return true;
}

// "axpy.cu: remark: includes '/folder/shared.h'". False for other lines; sets
// *code if there is no memory.
static bool take_include(struct compile *compile, const char *line, int *code)
{
    static const char mark[] = ": remark: includes '";
    const char *name = strstr(line, mark);
    if (!name)
        return false;
    *code = words_add(&compile->includes, "", name + sizeof mark - 1);
    if (*code == EXIT_OK) {
        char *file = compile->includes.items[compile->includes.count - 1];
        file[strlen(file) - 1] = 0;
    }
    return true;
}

static size_t count_lines(const char *text)
{
    size_t count = 1;
    while ((text = strchr(text, '\n'))) {
        count++;
        text++;
    }
    return count;
}

// Warnings go to standard error, remarks are for the report.
static int read_log(struct compile *compile)
{
    const char *log = "";
    rnl_status status = rnl_module_log(compile->module, &log);
    if (status != RNL_OK)
        return complain_failure(status);
    compile->log = strdup(log);
    compile->kernels = calloc(count_lines(log), sizeof *compile->kernels);
    if (!compile->log || !compile->kernels)
        return out_of_memory();
    char *rest = compile->log;
    int code = EXIT_OK;
    for (char *line; code == EXIT_OK && (line = strsep(&rest, "\n"));)
        if (!take_kernel(compile, line) &&
            !take_include(compile, line, &code) && (line[0] || rest))
            fprintf(stderr, "%s\n", line);
    return code;
}

// --- The binary -------------------------------------------------------------

static bool write_all(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool written = fwrite(data, 1, size, file) == size;
    return fclose(file) == 0 && written;
}

// The file is complete or not there; but what is none, like /dev/null, stays
// what it is.
static int write_binary(struct compile *compile)
{
    const void *data;
    struct stat there;
    rnl_status status =
        rnl_module_binary(compile->module, &data, &compile->size);
    if (status != RNL_OK)
        return complain_failure(status);
    if (stat(compile->output, &there) == 0 && !S_ISREG(there.st_mode))
        return write_all(compile->output, data, compile->size)
                   ? EXIT_OK
                   : complain("'%s' cannot be written: %s", compile->output,
                              strerror(errno));
    size_t length = strlen(compile->output);
    char *beside = malloc(length + sizeof ".tmp");
    if (!beside)
        return out_of_memory();
    memcpy(beside, compile->output, length);
    strcpy(beside + length, ".tmp");
    int code = EXIT_OK;
    if (!write_all(beside, data, compile->size) ||
        rename(beside, compile->output) != 0) {
        code = complain("'%s' cannot be written: %s", compile->output,
                        strerror(errno));
        remove(beside);
    }
    free(beside);
    return code;
}

// --- The rule for make ------------------------------------------------------

// Make reads a blank, '#' and '$' as they are only behind an escape.
static void put_name(FILE *file, const char *name)
{
    for (; *name; name++) {
        if (strchr(" #", *name))
            fputc('\\', file);
        if (*name == '$')
            fputc('$', file);
        fputc(*name, file);
    }
}

static void put_rule(FILE *file, const struct compile *compile)
{
    put_name(file, compile->output);
    fputs(": ", file);
    put_name(file, compile->file);
    for (size_t i = 0; i < compile->includes.count; i++) {
        fputs(" \\\n  ", file);
        put_name(file, compile->includes.items[i]);
    }
    fputc('\n', file);
}

static int write_depfile(struct compile *compile)
{
    if (!compile->depfile)
        return EXIT_OK;
    FILE *file = fopen(compile->depfile, "w");
    if (file)
        put_rule(file, compile);
    bool written = file && !ferror(file);
    if (file && fclose(file) != 0)
        written = false;
    return written ? EXIT_OK
                   : complain("'%s' cannot be written: %s", compile->depfile,
                              strerror(errno));
}

// --- The report -------------------------------------------------------------

static void report_json(const struct compile *compile)
{
    struct json json = {0};
    json_begin(&json, NULL, '{');
    json_string(&json, "file", compile->file);
    json_string(&json, "output", compile->output);
    json_unsigned(&json, "size", compile->size);
    json_string(&json, "target", compile->target ? compile->target : "native");
    json_unsigned(&json, "time_ns", compile->time_ns);
    json_begin(&json, "kernels", '[');
    for (size_t i = 0; i < compile->kernel_count; i++) {
        json_begin(&json, NULL, '{');
        json_string(&json, "name", compile->kernels[i].name);
        json_string(&json, "tier", compile->kernels[i].tier);
        json_string(&json, "reason", compile->kernels[i].reason);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static int report(struct compile *compile)
{
    char size[UNIT_TEXT_SIZE], time[UNIT_TEXT_SIZE];
    if (compile->json) {
        report_json(compile);
        return EXIT_OK;
    }
    print_painted(PAINT_TITLE, "%s", compile->output);
    printf("  %s in %s\n", unit_bytes(compile->size, size),
           unit_time(compile->time_ns, time));
    for (size_t i = 0; i < compile->kernel_count; i++) {
        const struct listed_kernel *kernel = &compile->kernels[i];
        print_row(kernel->name, " tier %s%s%s", kernel->tier,
                  kernel->reason[0] ? ": " : "", kernel->reason);
    }
    if (compile->kernel_count == 0)
        printf("  There is no kernel in it.\n");
    return EXIT_OK;
}

// --- The command ------------------------------------------------------------

static void compile_free(struct compile *compile)
{
    rnl_module_release(compile->module);
    rnl_context_release(compile->context);
    words_free(&compile->compiler);
    words_free(&compile->includes);
    words_free(&compile->expressions);
    free(compile->kernels);
    free(compile->log);
    free(compile->source);
    free(compile->output);
}

int command_compile(int argc, char **argv)
{
    static int (*const steps[])(struct compile *compile) = {
        read_source, open_context, make_module, read_log, write_binary,
        write_depfile, report,
    };
    struct compile compile = {0};
    bool done = false;
    int code = read_options(&compile, argc, argv, &done);
    size_t count = done ? 0 : sizeof steps / sizeof steps[0];
    for (size_t i = 0; code == EXIT_OK && i < count; i++)
        code = steps[i](&compile);
    compile_free(&compile);
    return code;
}
