// --dump-ir and --dump-assembly and --dump-machine, for the commands that
// compile.
#pragma once

#include <runnel/runnel.h>

// Where each kind goes: a path, "-" for standard output, NULL for nowhere.
struct dump {
    const char *assembly, *ir, *machine;
    rnl_dump asked;   // what the compiler is asked for
    int error;        // errno of the first text that could not be written …
    char *failed;     // … and its path
};

// Fills `asked` for rnl_module_options; NULL when nothing is to be dumped.
const rnl_dump *dump_ask(struct dump *dump);

// Whether some text goes to standard output.
bool dump_prints(const struct dump *dump);

// A complaint about a text that could not be written, with its exit code;
// EXIT_OK if all were.
int dump_finish(struct dump *dump);
