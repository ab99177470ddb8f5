// MurmurHash3 (32 bits) of n records of 32 bytes.
#define WORDS 8

__device__ unsigned rotate(unsigned value, int bits)
{
    return value << bits | value >> (32 - bits);
}

extern "C" __global__ void murmur(const unsigned *records, unsigned *hashes,
                                  int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned hash = 42;
    for (int k = 0; k < WORDS; k++) {
        unsigned word = records[i * WORDS + k] * 0xcc9e2d51u;
        hash ^= rotate(word, 15) * 0x1b873593u;
        hash = rotate(hash, 13) * 5 + 0xe6546b64u;
    }
    hash ^= 4 * WORDS;
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    hashes[i] = hash ^ hash >> 16;
}
