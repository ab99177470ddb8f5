// The format of a kernel's printf.
#pragma once

// The number of arguments that it takes, which is what CUDA's printf returns.
int print_arguments(const char *format);
