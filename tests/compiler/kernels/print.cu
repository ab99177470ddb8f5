// Kernel printf.
extern "C" __global__ void print_indices(int base)
{
    printf("block %d thread %u: %s %.2f %lld%%\n", blockIdx.x, threadIdx.x,
           "text", base * 0.5, (long long)base << 33);
}

extern "C" __global__ void print_nothing()
{
    int written = printf("no arguments\n");
    if (written != 0)
        printf("%d?\n", written);
}
