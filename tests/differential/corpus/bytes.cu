// Arithmetic of bytes and shorts, which vectors do in 16 bits where all numbers
// fit: sums that just fit and that just do not, with and without a sign.

// All bytes, in an order that lets neighbours differ.
#define SHARED_BYTES                                                \
    __shared__ unsigned char bytes[512];                            \
    __shared__ short shorts[512];                                   \
    int t = threadIdx.x, i = blockIdx.x * 128 + t;                  \
    for (int j = t; j < 512; j += 128) {                            \
        unsigned hash = (unsigned)(j + i - t + in[i % n]) * 40503u; \
        bytes[j] = j % 7 ? hash >> 5 : j % 2 ? 255 : 0;             \
        shorts[j] = j % 5 ? hash >> 3 : j % 2 ? 32767 : -32768;     \
    }                                                               \
    __syncthreads();                                                \
    int a = bytes[t], b = bytes[t + 1], c = bytes[t + 100];         \
    int s = shorts[t], r = shorts[t + 1];                           \
    signed char m = (signed char)a, k = ((signed char *)bytes)[t + 3]

// @run int n=256 grid=2 block=128
extern "C" __global__ void edges_of_bytes(int *out, const int *in, int n)
{
    SHARED_BYTES;
    int across = a + 2 * b + c - bytes[t + 64] - 2 * bytes[t + 9] - s % 2;
    int down = a - 2 * c + bytes[t + 200];
    int strength = abs(across) + abs(down);
    out[i] = (unsigned char)(strength > 255 ? 255 : strength) + m + k + r;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void blended_bytes(int *out, const int *in, int n)
{
    SHARED_BYTES;
    int product = a * b, sum = a * b + c, more = a * b + 2 * (c + 128);
    unsigned char *o = bytes + 256;
    o[t] = (product + 127) / 255;
    int rounded = (unsigned char)((sum + 128 + ((sum + 128) >> 8)) >> 8);
    int halved = (unsigned char)(more >> 9);
    int mixed = (unsigned char)((a * c + b * (255 - c)) >> 8);
    out[i] = o[t] + rounded * 256 + (halved << 16) + (mixed << 24) + s + r +
             m + k;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void signed_bytes(int *out, const int *in, int n)
{
    SHARED_BYTES;
    short *o = shorts;
    __syncthreads();
    int product = m * k, shifted = (m * k) >> 3, doubled = m * 256;
    int quotient = (m * k) / 7 + (m + k) / 3;
    o[t] = (short)(product + shifted + quotient);
    int low = min(m + k, a - b), high = max(m * 2, k - c);
    signed char limited = (signed char)max(-128, min(127, m + k + a));
    out[i] = o[t] + low * 3 + high + limited + doubled + (m < k) +
             (product > shifted ? 1 : 5) + (s < r);
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void shorts_at_their_ends(int *out, const int *in, int n)
{
    SHARED_BYTES;
    int size = abs(s), sum = s + r, half = (s >> 1) + (r >> 1);
    short limited = (short)max(-32768, min(32767, sum));
    short absolute = (short)min(size, 32767), whole = (short)size;
    unsigned short unsigned_sum =
        (unsigned short)((unsigned short)s / 3u + ((unsigned short)r >> 1));
    out[i] = limited + absolute * 2 + whole + unsigned_sum + (half ^ (s | r)) +
             (~s & r) + (size > 32767) + a + b + c + m + k;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void chosen_bytes(int *out, const int *in, int n)
{
    SHARED_BYTES;
    int least = min(a, min(b, c)), most = max(a, max(b, c));
    int middle = a + b + c - least - most;
    int away = a > b ? a - b : b - a;
    int above = a * 200 > b * 250 ? a * 255 : b * 256 - 1;
    unsigned char close = away < 40 ? (a + b + 1) >> 1 : (unsigned char)middle;
    bytes[256 + t] = (unsigned char)(above >> 8);
    out[i] = close + bytes[256 + t] * 3 + (above & 0xf0f0) + (s > r) + m + k;
}
