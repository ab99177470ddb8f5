// Hashes, ciphers, random numbers, text, and numbers of many words.

__device__ unsigned turned(unsigned word, int right)
{
    return __funnelshift_r(word, word, right);
}

// --- Hashes and ciphers ----------------------------------------------------

__constant__ unsigned sha256_roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// @run unsigned n=1056 block=66
extern "C" __global__ void sha256(unsigned *out, const unsigned *in, int n)
{
    unsigned words[16], first = threadIdx.x * 16;
    for (int k = 0; k < 16; k++)
        words[k] = in[first + k];
    unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned a = state[0], b = state[1], c = state[2], d = state[3];
    unsigned e = state[4], f = state[5], g = state[6], h = state[7];
    for (int k = 0; k < 64; k++) {
        if (k >= 16) {
            unsigned w1 = words[(k + 1) & 15], w14 = words[(k + 14) & 15];
            words[k & 15] +=
                words[(k + 9) & 15] +
                (turned(w1, 7) ^ turned(w1, 18) ^ w1 >> 3) +
                (turned(w14, 17) ^ turned(w14, 19) ^ w14 >> 10);
        }
        unsigned mixed = h + sha256_roots[k] + words[k & 15] +
                         (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                         (g ^ (e & (f ^ g)));
        unsigned majority = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                            ((a & b) | (c & (a | b)));
        h = g;
        g = f;
        f = e;
        e = d + mixed;
        d = c;
        c = b;
        b = a;
        a = mixed + majority;
    }
    const unsigned result[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; k++)
        out[first + k] = state[k] + result[k];
}

// @run unsigned n=200 block=200
// @run unsigned n=31 block=31
extern "C" __global__ void crc32(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned table[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned entry = i;
        for (int bit = 0; bit < 8; bit++)
            entry = entry >> 1 ^ (entry & 1 ? 0xedb88320u : 0);
        table[i] = entry;
    }
    __syncthreads();
    const unsigned char *bytes = (const unsigned char *)(in + threadIdx.x);
    unsigned crc = ~0u;
    for (int k = 0; k < 4; k++)
        crc = table[(crc ^ bytes[k]) & 255] ^ crc >> 8;
    out[threadIdx.x] = ~crc;
}

// The product in the field of 256 elements.
__device__ unsigned char times(unsigned char a, unsigned char b)
{
    unsigned char product = 0;
    for (; b; b >>= 1) {
        if (b & 1)
            product ^= a;
        a = a << 1 ^ (a & 0x80 ? 0x1b : 0);
    }
    return product;
}

__device__ unsigned char substitute(unsigned value)
{
    unsigned char inverse = 0;
    for (unsigned other = 1; value && other < 256; other++)
        if (times(value, other) == 1) {
            inverse = other;
            break;
        }
    unsigned char sum = inverse;
    for (int k = 0; k < 4; k++) {
        inverse = inverse << 1 | inverse >> 7;
        sum ^= inverse;
    }
    return sum ^ 0x63;
}

// Rounds by a table in shared memory, with round keys of any kind.
// @run unsigned n=512 block=128
// @run unsigned n=132 block=33
extern "C" __global__ void aes_rounds(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned char s = substitute(i);
        table[i] = times(s, 2) | s << 8 | s << 16 | times(s, 3) << 24;
    }
    __syncthreads();
    uint4 block = ((const uint4 *)in)[threadIdx.x];
    unsigned state[4] = {block.x, block.y, block.z, block.w}, next[4];
    for (unsigned round = 0; round < 9; round++) {
#pragma unroll
        for (int c = 0; c < 4; c++)
            next[c] = table[state[c] & 255] ^
                      turned(table[state[(c + 1) & 3] >> 8 & 255], 24) ^
                      __byte_perm(table[state[(c + 2) & 3] >> 16 & 255], 0,
                                  0x1032) ^
                      turned(table[state[(c + 3) & 3] >> 24], 8) ^
                      0x01020304u * (round + c);
        for (int c = 0; c < 4; c++)
            state[c] = next[c];
    }
    ((uint4 *)out)[threadIdx.x] =
        make_uint4(state[0], state[1], state[2], state[3]);
}

// --- Random numbers --------------------------------------------------------

__device__ uint4 philox(uint4 counter, uint2 key)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xd2511f53u, counter.x);
        unsigned high1 = __umulhi(0xcd9e8d57u, counter.z);
        counter = make_uint4(high1 ^ counter.y ^ key.x,
                             0xcd9e8d57u * counter.z,
                             high0 ^ counter.w ^ key.y,
                             0xd2511f53u * counter.x);
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return counter;
}

// @run unsigned n=512 grid=2 block=256
// @run unsigned n=210 grid=2 block=7,5,3
extern "C" __global__ void darts(unsigned *out, const unsigned *in, int n)
{
    unsigned block = blockDim.x * blockDim.y * blockDim.z;
    unsigned t = blockIdx.x * block + threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned hits = 0;
    for (unsigned k = 0; k < 8; k++) {
        uint4 dart = philox(make_uint4(t, k, 0, 0), make_uint2(in[0], in[1]));
        float x = dart.x * 0x1p-32f, y = dart.y * 0x1p-32f;
        float z = dart.z * 0x1p-32f, w = dart.w * 0x1p-32f;
        hits += (x * x + y * y <= 1.0f) + (z * z + w * w <= 1.0f);
    }
    out[t] = hits;
}

struct xorwow {
    unsigned x, y, z, w, v, d;

    __device__ unsigned next()
    {
        unsigned last = x ^ x >> 2;
        x = y;
        y = z;
        z = w;
        w = v;
        v = v ^ v << 4 ^ last ^ last << 1;
        return (d += 362437) + v;
    }
};

// @run unsigned n=256 block=256
// @run unsigned n=105 block=7,5,3
extern "C" __global__ void walks(unsigned *out, const unsigned *in, int n)
{
    unsigned t = threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    xorwow state = {in[t] | 1, 362436069, 521288629, 88675123 ^ t, 5783321,
                    6615241};
    int x = 0, y = 0;
    unsigned steps = 0;
    for (; abs(x) + abs(y) < 6 && steps < 100; steps++)
        switch (state.next() % 4) {
        case 0: x++; break;
        case 1: x--; break;
        case 2: y++; break;
        default: y--;
        }
    out[t] = steps << 16 | (x & 255) << 8 | (y & 255);
}

// --- Numbers of many words -------------------------------------------------

// @run unsigned n=1056 block=66
extern "C" __global__ void product_of_8_words(unsigned *out,
                                              const unsigned *in, int n)
{
    const unsigned *a = in + threadIdx.x * 16, *b = a + 8;
    unsigned product[16] = {0};
#pragma unroll
    for (int i = 0; i < 8; i++) {
        unsigned carry = 0;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            unsigned low = a[i] * b[j], high = __umulhi(a[i], b[j]);
            low += carry;
            high += low < carry;
            product[i + j] += low;
            carry = high + (product[i + j] < low);
        }
        product[i + 8] = carry;
    }
    for (int i = 0; i < 16; i++)
        out[threadIdx.x * 16 + i] = product[i];
}

// A word for each lane: all carries at once.
// @run unsigned n=256 block=128
extern "C" __global__ void sum_of_32_words(unsigned *out, const unsigned *in,
                                           int n)
{
    int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 64;
    unsigned a = in[first + lane], sum = a + in[first + 32 + lane];
    unsigned makes = __ballot_sync(~0u, sum < a);
    unsigned hands_on = __ballot_sync(~0u, sum == ~0u);
    unsigned long long carries = ((unsigned long long)makes << 1) + hands_on;
    sum += (unsigned)(carries ^ hands_on) >> lane & 1;
    out[first + lane] = sum;
}

// Modulo 2^64 - 2^32 + 1.
__device__ unsigned long long times_modulo(unsigned long long a,
                                           unsigned long long b)
{
    unsigned long long low = a * b, high = __umul64hi(a, b);
    unsigned long long difference = low - (high >> 32);
    if (low < high >> 32)
        difference -= 0xffffffffu;
    unsigned long long upper = (high & 0xffffffffu) * 0xffffffffu;
    unsigned long long sum = difference + upper;
    if (sum < upper)
        sum += 0xffffffffu;
    return sum >= 0xffffffff00000001u ? sum - 0xffffffff00000001u : sum;
}

// @run long long n=256 block=256
// @run long long n=33 block=33
extern "C" __global__ void powers_modulo(long long *out, const long long *in,
                                         int n)
{
    unsigned long long base = in[threadIdx.x], power = 1;
    base %= 0xffffffff00000001u;
    for (unsigned exponent = threadIdx.x; exponent; exponent >>= 1) {
        if (exponent & 1)
            power = times_modulo(power, base);
        base = times_modulo(base, base);
    }
    out[threadIdx.x] = power;
}

// Two doubles that are one number.
struct pair {
    double high, low;

    __device__ pair operator+(pair b) const
    {
        double sum = high + b.high, part = sum - high;
        double rest = high - (sum - part) + (b.high - part) + low + b.low;
        return {sum + rest, rest - ((sum + rest) - sum)};
    }
    __device__ pair operator*(pair b) const
    {
        double product = high * b.high;
        double rest = fma(high, b.high, -product) + high * b.low +
                      low * b.high;
        return {product + rest, rest - ((product + rest) - product)};
    }
};

// @run double n=256 block=256
// @run double n=33 block=33
extern "C" __global__ void double_doubles(double *out, const double *in, int n)
{
    pair power = {1, 0}, sum = {0, 0};
    for (int k = 0; k < 20; k++) {
        power = power * pair{in[(threadIdx.x + k) % n] * 0.01 + 1, 1e-20};
        sum = sum + power;
    }
    out[threadIdx.x] = sum.high + sum.low * 1e15;
}

// --- Text ------------------------------------------------------------------

__constant__ char digits64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// @run unsigned n=120 grid=2 block=64
// @run unsigned n=120 block=33
extern "C" __global__ void base64(unsigned *out, const unsigned *in, int n)
{
    const uchar3 *threes = reinterpret_cast<const uchar3 *>(in);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        unsigned bits = threes[i].x << 16 | threes[i].y << 8 | threes[i].z;
        reinterpret_cast<uchar4 *>(out)[i] =
            make_uchar4(digits64[bits >> 18], digits64[bits >> 12 & 63],
                        digits64[bits >> 6 & 63], digits64[bits & 63]);
    }
}

// Letters, and bytes that are part of none.
// @run unsigned n=500 block=100
// @run unsigned n=165 block=33
extern "C" __global__ void utf8(unsigned *out, const unsigned *in, int n)
{
    const unsigned char *text = (const unsigned char *)(in + threadIdx.x * 5);
    int letters = 0, wrong = 0;
    for (int i = 0; i < 20;) {
        unsigned char c = text[i];
        int length = c < 0x80             ? 1
                     : (c & 0xe0) == 0xc0 ? 2
                     : (c & 0xf0) == 0xe0 ? 3
                     : (c & 0xf8) == 0xf0 ? 4
                                          : 0;
        bool good = length && i + length <= 20;
        for (int k = 1; good && k < length; k++)
            if ((text[i + k] & 0xc0) != 0x80) {
                good = false;
                break;
            }
        letters += good;
        wrong += !good;
        i += good ? length : 1;
    }
    out[threadIdx.x] = letters << 16 | wrong;
}

// @run int n=1000 block=100
// @run int n=330 block=33
extern "C" __global__ void search_in_text(int *out, const int *in, int n)
{
    __shared__ int pattern[5], back[5];
    if (threadIdx.x < 5)
        pattern[threadIdx.x] = in[threadIdx.x + 7] & 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        back[0] = 0;
        for (int i = 1, k = 0; i < 5; i++) {
            while (k && pattern[i] != pattern[k])
                k = back[k - 1];
            k += pattern[i] == pattern[k];
            back[i] = k;
        }
    }
    __syncthreads();
    int first = threadIdx.x * 10, end = min(first + 14, n), found = 0;
    for (int i = first, k = 0; i < end; i++) {
        int letter = in[i] & 1;
        while (k > 0 && letter != pattern[k])
            k = back[k - 1];
        k += letter == pattern[k];
        if (k == 5) {
            found |= 1 << (i - 4 - first);
            k = back[k - 1];
        }
    }
    out[threadIdx.x] = found;
}

// To digits and back.
// @run int n=256 block=256
extern "C" __global__ void decimal(int *out, const int *in, int n)
{
    char text[12];
    int length = 0, value = in[threadIdx.x] * (int)(threadIdx.x * 777 + 1);
    unsigned rest = value < 0 ? -(unsigned)value : value;
    do
        text[length++] = '0' + rest % 10;
    while (rest /= 10);
    if (value < 0)
        text[length++] = '-';
    for (int a = 0, b = length - 1; a < b; a++, b--) {
        char kept = text[a];
        text[a] = text[b];
        text[b] = kept;
    }
    text[length] = 0;
    unsigned hash = 5381, back = 0;
    for (const char *p = text; *p; p++) {
        hash = hash * 33 + *p;
        if (*p != '-')
            back = back * 10 + (*p - '0');
    }
    out[threadIdx.x] = hash ^ (value < 0 ? -back : back);
}

// --- Puzzles ---------------------------------------------------------------

// @run int n=64 block=64
// @run int n=33 block=33
extern "C" __global__ void queens_with_stack(int *out, const int *in, int n)
{
    int size = threadIdx.x % 8 + 1, top = 0, count = 0;
    unsigned all = (1u << size) - 1;
    unsigned columns[8] = {0}, left[8] = {0}, right[8] = {0}, free[8] = {all};
    while (top >= 0) {
        if (!free[top]) {
            top--;
            continue;
        }
        unsigned queen = free[top] & -free[top];
        free[top] ^= queen;
        if (top == size - 1) {
            count++;
            continue;
        }
        columns[top + 1] = columns[top] | queen;
        left[top + 1] = (left[top] | queen) << 1;
        right[top + 1] = (right[top] | queen) >> 1;
        top++;
        free[top] = all & ~(columns[top] | left[top] | right[top]);
    }
    out[threadIdx.x] = count;
}

__device__ int ways(unsigned all, unsigned columns, unsigned left,
                    unsigned right)
{
    if (columns == all)
        return 1;
    int sum = 0;
    for (unsigned free = all & ~(columns | left | right); free;) {
        unsigned queen = free & -free;
        free ^= queen;
        sum += ways(all, columns | queen, (left | queen) << 1,
                    (right | queen) >> 1);
    }
    return sum;
}

// @run int n=64 block=64
// @run int n=33 block=33
extern "C" __global__ void queens_by_recursion(int *out, const int *in, int n)
{
    out[threadIdx.x] = ways((1u << threadIdx.x % 8) - 1, 0, 0, 0);
}

// 32 cells in a word.
// @run unsigned n=256 block=16,16
// @run unsigned n=176 block=16,11
extern "C" __global__ void life(unsigned *out, const unsigned *in, int n)
{
    int x = threadIdx.x, y = threadIdx.y, height = blockDim.y;
    unsigned ones = 0, twos = 0, fours = 0;
#pragma unroll
    for (int dy = -1; dy <= 1; dy++) {
        const unsigned *row = in + (y + dy + height) % height * 16;
        unsigned left = row[(x + 15) % 16], right = row[(x + 1) % 16];
        const unsigned around[3] = {row[x] << 1 | left >> 31, row[x],
                                    row[x] >> 1 | right << 31};
#pragma unroll
        for (int k = 0; k < 3; k++) {
            if (dy == 0 && k == 1)
                continue;
            unsigned carry = ones & around[k];
            ones ^= around[k];
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    out[y * 16 + x] = twos & ~fours & (ones | in[y * 16 + x]);
}
