// Parameters of every kind.
struct Small {
    char a, b, c;
};
struct Large {
    double matrix[16];
    int n;
};
enum Mode { MODE_A, MODE_B = 3 };
enum class Tone : unsigned char { low, high };

extern "C" __global__ void parameters_mixed(
    long long *out, char c, unsigned char uc, short s, unsigned short us,
    int i, unsigned int u, long l, unsigned long long ull, bool b, Mode mode,
    Tone tone)
{
    out[0] = c;
    out[1] = uc;
    out[2] = s;
    out[3] = us;
    out[4] = i;
    out[5] = u;
    out[6] = l;
    out[7] = (long long)ull;
    out[8] = b;
    out[9] = mode;
    out[10] = (int)tone;
}

extern "C" __global__ void parameters_real(double *out, float f, double d,
                                           const float *p, float2 two,
                                           float4 four, int3 three)
{
    out[0] = f;
    out[1] = d;
    out[2] = p[1];
    out[3] = two.x + two.y;
    out[4] = four.x + four.y + four.z + four.w;
    out[5] = three.x * 100 + three.y * 10 + three.z;
}

// A parameter belongs to each thread.
extern "C" __global__ void parameters_struct(double *out, Small small,
                                             Large large, int step)
{
    int t = threadIdx.x;
    large.n += t;
    step += t;
    large.matrix[t & 15] += small.a + small.b * 2 + small.c * 4;
    __syncthreads();
    out[t] = large.matrix[t & 15] + large.n * 1000 + step * 100000.0 +
             large.matrix[(t + 1) & 15] * 0.5;
}

// The host passes the addresses.
extern "C" __global__ void parameters_reference(double *out,
                                                const Large &large, int &step)
{
    out[threadIdx.x] = large.matrix[threadIdx.x] * step + large.n;
    __syncthreads();
    if (threadIdx.x == 0)
        step++;
}
