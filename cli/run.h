// `runnel run`, in three parts: what is asked for (run_options.c), doing it
// (run.c), and showing the results (run_report.c).
#pragma once

#include <runnel/runnel.h>

#include "argument.h"
#include "dump.h"
#include "parse.h"
#include "source.h"

struct run_options {
    const char *file;       // "-" is standard input
    const char *function;
    const char *device;     // NULL: the best
    struct dump dump;
    bool list;              // the kernels, and launch none
    rnl_dim3 grid, block, cluster;
    size_t shared_size;
    uint64_t repeat;        // launches
    uint64_t timeout_ns;
    bool json;
    struct words compiler;  // options for it
    bool compiles;          // some were asked for
    struct argument *arguments;
    size_t argument_count;
    struct print_range *ranges;
    size_t range_count;
};

// Reads the command line. EXIT_OK, or the exit code after a complaint;
// `*out_done` tells that nothing is left to do, the help was asked for.
int run_options_read(struct run_options *options, int argc, char **argv,
                     bool *out_done);

void run_options_free(struct run_options *options);

// Some elements of a buffer, as they are after the last launch.
struct result {
    size_t argument;
    size_t first, count;
    unsigned char *data;
};

struct run {
    struct run_options options;
    char *source;           // the file, which may be a binary
    size_t size;
    bool binary;
    rnl_context context;
    rnl_stream stream;
    rnl_module module;
    rnl_function function;
    rnl_buffer *buffers;    // one for each argument, NULL for scalars
    rnl_event start, end;
    uint64_t *times;        // ns of each launch
    struct result *results;
    size_t result_count;
};

// Prints the kernels of the module.
int run_list(struct run *run);

// Copies what is to be printed from the device.
int run_fetch(struct run *run);

// Prints it, and the times, which it sorts.
int run_report(struct run *run);
