// The format of a kernel's printf.
#include "backends/cpu/kernel/block_threads.h"

#include <string.h>

int print_arguments(const char *format)
{
    int count = 0;
    while ((format = strchr(format, '%'))) {
        size_t size = strspn(++format, "-+ #0123456789.*hlLjzt");
        for (size_t i = 0; i < size; i++)
            count += format[i] == '*';
        format += size;
        count += *format && *format != '%';
        format += *format != 0;
    }
    return count;
}
