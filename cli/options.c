// The command line, as far as all commands read it the same way.
#include <getopt.h>
#include <stdio.h>

#include "cli.h"
#include "parse.h"

// The option that getopt stumbled over, as it was written. A long option is
// the word just read; a letter may stand in the middle of its word.
static int complain_option(char **argv, int letter, const char *problem)
{
    if (letter > 0 && letter < 256)
        complain_usage("option '-%c' %s", letter, problem);
    else
        complain_usage("option '%s' %s", argv[optind - 1], problem);
    return '?';
}

int next_option(int argc, char **argv, const char *letters,
                const struct option *options)
{
    opterr = 0;
    int found = getopt_long(argc, argv, letters, options, NULL);
    if (found == ':')
        return complain_option(argv, argv[optind - 1][1] == '-' ? 0 : optopt,
                               "needs a value");
    if (found == '?')
        return complain_option(argv, argv[optind - 1][1] == '-' ? 0 : optopt,
                               "is unknown, ambiguous or takes no value");
    return found;
}

int open_device(const char *name, rnl_context *out_context)
{
    char api[DEVICE_API_SIZE];
    size_t index = 0;
    if (name) {
        const char *problem = parse_device(name, api, &index);
        if (problem)
            return complain_usage("device '%s' %s", name, problem);
    }
    rnl_status status =
        rnl_context_open(name ? api : NULL, index, NULL, out_context);
    return status == RNL_OK ? EXIT_OK : complain_failure(status);
}

void device_name(const rnl_device_info *info, char *text, size_t size)
{
    snprintf(text, size, "%s:%u", info->api, info->index);
}
