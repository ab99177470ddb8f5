// The `runnel` program: looks at the devices, checks them, compiles and runs
// kernels.
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "output.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"info", command_info},
    {"check", command_check},
    {"compile", command_compile},
    {"run", command_run},
    {"cache", command_cache},
    {"help", command_help},
};

static int print_version(void)
{
    int library = rnl_version();
    printf("runnel %d.%d.%d\n", RNL_VERSION_MAJOR, RNL_VERSION_MINOR,
           RNL_VERSION_PATCH);
    if (library != RNL_VERSION)
        printf("with librunnel %d.%d.%d\n", library / 10000,
               library / 100 % 100, library % 100);
    return EXIT_OK;
}

static int run_command(int argc, char **argv)
{
    const char *name = argv[1];
    if (!strcmp(name, "-h") || !strcmp(name, "--help"))
        return help_print(NULL);
    if (!strcmp(name, "-V") || !strcmp(name, "--version"))
        return print_version();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            complain_as(name);
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return complain_usage("'%s' is not a command", name);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return complain_usage("a command is missing: info, check, "
                              "compile, run, cache or help");
    int code = run_command(argc, argv);
    if (!output_finish() && code == EXIT_OK)
        code = EXIT_FAILED;
    return code;
}
