// Part of the library with clang's loops alone: its OpenMP lets workers spin
// 200 ms after each region. Some milliseconds, as with GCC's, keep them awake
// from one sample to the next, and the next variant need not wait as long.
void kmp_set_blocktime(int milliseconds);

enum { SPIN_MS = 5 };

__attribute__((constructor)) static void set_spinning(void)
{
    kmp_set_blocktime(SPIN_MS);
}
