// Kernels that only the preprocessor can see.
#define KERNEL extern "C" __global__ void
#define DEFINE_KERNEL(name, op)                        \
    KERNEL name(int *out, const int *in, int n)        \
    {                                                  \
        int i = threadIdx.x;                           \
        out[i] = in[i] op n;                           \
    }

DEFINE_KERNEL(macro_add, +)
DEFINE_KERNEL(macro_multiply, *)

#ifdef WANTED
KERNEL macro_wanted(int *out, const int *, int) { out[0] = WANTED; }
#else
KERNEL macro_unwanted(int *out, const int *, int) { out[0] = -1; }
#endif

#if __CUDA_ARCH__ >= 700
KERNEL macro_arch(int *out, const int *, int) { out[0] = __CUDACC_RTC__; }
#endif

/* __global__ void not_this(int *) {} */
// extern "C" __global__ void nor_this() {}
static const char *const text = "__global__ void nor_that() {}";
KERNEL macro_text(int *out, const int *, int) { out[0] = text[0]; }
