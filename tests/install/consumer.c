// The smallest program of a user: built against the installed library, and
// against the source tree, in each way that the README promises.
#include <runnel/runnel.h>
#include <stdio.h>

int main(void)
{
    rnl_context context;
    if (rnl_version() != RNL_VERSION) {
        fprintf(stderr, "header %d, library %d\n", RNL_VERSION, rnl_version());
        return 1;
    }
    if (rnl_context_open("cpu", 0, NULL, &context) ||
        rnl_context_synchronize(context, RNL_FOREVER) ||
        rnl_context_release(context)) {
        fprintf(stderr, "%s\n", rnl_last_error()->message);
        return 1;
    }
    return 0;
}
