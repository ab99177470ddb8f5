#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *report_program = "runnel-cc";

int report(int code, const char *format, const char *what)
{
    fprintf(stderr, "%s: ", report_program);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return code;
}

int report_file(const char *action, const char *path)
{
    fprintf(stderr, "%s: cannot %s %s: %s\n", report_program, action, path,
            strerror(errno));
    return CC_FILE;
}
