__shared__ int s = 3;
struct k { __global__ void in_class() {} };
__global__ int returns(int x) { return x; }
__global__ void throws() noexcept { throw 1; }
__device__ void local() { __device__ int x; thread_local int y; }
__host__ void host() {}
int plain_host() { return [](auto x) { return x; }(3); }
__constant__ int c; __global__ void writes() { c = 3; asm("mov.u32 %0;"); }
__attribute__((shared)) int attribute;
__int128 wide; static __device__ __managed__ int m;
