// builtins.o as bytes of this program.
#include "frontend/clang.h"

__asm__(".section .rodata\n"
        ".globl cc_builtins, cc_builtins_end\n"
        "cc_builtins: .incbin \"" BUILTINS "\"\n"
        "cc_builtins_end: .byte 0\n"
        ".previous\n");
