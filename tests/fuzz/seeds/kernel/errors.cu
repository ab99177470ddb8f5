__global__ void k(int &&x) {}
===
In file included from <built-in>:1:
rnl-records:1: error: static assertion failed: "a kernel has no such parameter"
kernel.cu:1:20: error: use of undeclared identifier 'tex2D'; did you mean 'x'?
    1 | __global__ void k(int &&x) {}
      |                   ^
rnl-table:3:4: note: in instantiation of 'f' requested here
./rnl-headers/a.h:2:1: warning: 'X' macro redefined [-Wmacro-redefined]
rnl-prelude.h:9:9: note: previous definition is here
kernel.cu: In function 'f':
kernel.cu:5:3:   required from here
kernel.cu:6:10: fatal error: 'cuda/barrier' file not found
In file included from a.cu:1:
                 from b.cu:2:
rnl-parts/mma.h:1:2: error: #error <mma.h> is not supported by Runnel on the CPU
2 errors generated.
