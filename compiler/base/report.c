#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int report(int code, const char *format, const char *what)
{
    fputs("runnel-cc: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return code;
}

int report_file(const char *action, const char *path)
{
    fprintf(stderr, "runnel-cc: cannot %s %s: %s\n", action, path,
            strerror(errno));
    return CC_FILE;
}
