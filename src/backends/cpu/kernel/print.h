// The format of a kernel's printf.
#pragma once

// Counts the arguments of a format: the result of CUDA's printf.
int print_arguments(const char *format);
