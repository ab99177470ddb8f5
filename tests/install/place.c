// Whether a program that the library is part of finds the runnel-cc beside it.
// usage: place (leaves its folder, and compiles), or place PROGRAM NAME (starts
// the program by that name)
#include <runnel/runnel.h>

#include <unistd.h>

int main(int count, char **arguments)
{
    rnl_context context;
    rnl_module module;
    if (count == 3) {
        execl(arguments[1], arguments[2], (char *)NULL);
        return 1;
    }
    if (chdir("/") != 0 || rnl_context_open("cpu", 0, NULL, &context) != RNL_OK)
        return 1;
    // Nobody's compiler here makes anything.
    rnl_status status = rnl_module_compile(
        context, "__global__ void k() {}", NULL, &module);
    rnl_context_release(context);
    return status == RNL_OK;
}
