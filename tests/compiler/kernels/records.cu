// Members of structs at the ends of what may be read and written.

struct quad {
    int x, y, z, w;
};

struct byte_quad {
    unsigned char x, y, z, w;
};

extern "C" __global__ void first_of_four(int *out, const quad *in)
{
    int i = threadIdx.x;
    out[i] = in[i].x;
}

extern "C" __global__ void last_of_four(int *out, const quad *in)
{
    int i = threadIdx.x;
    out[i] = in[i].w;
}

extern "C" __global__ void middle_of_four(int *out, const quad *in)
{
    int i = threadIdx.x;
    out[i] = in[i].y + in[i].z;
}

extern "C" __global__ void all_of_three(int *out, const int3 *in)
{
    int i = threadIdx.x;
    out[i] = in[i].x + in[i].y + in[i].z;
}

extern "C" __global__ void all_of_three_elsewhere(int *out, const int3 *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[i] = in[at].x + in[at].y + in[at].z;
}

extern "C" __global__ void all_of_four_elsewhere(int *out, const quad *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[i] = in[at].x + in[at].y + in[at].z + in[at].w;
}

extern "C" __global__ void all_of_four_of_some(int *out, const quad *in)
{
    int i = threadIdx.x, at = i * 5 + 63;
    if (out[i] == 0) {
        at &= 63;
        out[i] = in[at].x + in[at].y + in[at].z + in[at].w;
    } else {
        out[i] = in[at - 63 - i * 4].x;
    }
}

extern "C" __global__ void two_of_four_elsewhere(int *out, const quad *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[i] = in[at].z + in[at].w;
}

extern "C" __global__ void three_bytes(int *out, const uchar3 *in)
{
    int i = threadIdx.x;
    out[i] = in[i].x + in[i].y + in[i].z;
}

extern "C" __global__ void three_bytes_elsewhere(int *out, const uchar3 *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[i] = in[at].x + in[at].y + in[at].z;
}

extern "C" __global__ void second_byte(int *out, const byte_quad *in)
{
    int i = threadIdx.x;
    out[i] = in[i].y;
}

extern "C" __global__ void three_of_four_bytes(int *out, const byte_quad *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[i] = in[at].x + in[at].y + in[at].z;
}

extern "C" __global__ void a_word_and_a_half(int *out, const short3 *in)
{
    int i = threadIdx.x;
    out[i] = in[i].x + in[i].y + in[i].z;
}

// These write what others may be reading: only their own members.
extern "C" __global__ void write_three(int3 *out, const int *in)
{
    int i = threadIdx.x;
    out[i] = make_int3(in[i], in[i] + 1, in[i] + 2);
}

extern "C" __global__ void write_two_of_four(quad *out, const int *in)
{
    int i = threadIdx.x;
    out[i].y = in[i];
    out[i].z = in[i] + 1;
}

extern "C" __global__ void write_two_elsewhere(quad *out, const int *in)
{
    int i = threadIdx.x, at = (i * 5 + 63) & 63;
    out[at].y = in[i];
    out[at].z = in[i] + 1;
}

// Rows of as many numbers, and rows that are shorter the later they are.
extern "C" __global__ void rows(int *out, const int *in, int count)
{
    int i = threadIdx.x, sum = 0;
    for (int k = 0; k < count; k++)
        sum += in[i * count + k];
    out[i] = sum;
}

extern "C" __global__ void rows_backwards(int *out, const int *in, int count)
{
    int i = threadIdx.x, sum = 0;
    for (int k = count - 1; k >= 0; k--)
        sum += in[i * count + k];
    out[i] = sum;
}

extern "C" __global__ void shorter_rows(int *out, const int *in, int count)
{
    int i = threadIdx.x, sum = 0, most = count - i * count / 64;
    for (int k = 0; k < most; k++)
        sum += in[i * count + k];
    out[i] = sum;
}

extern "C" __global__ void rows_of_bytes(int *out, const unsigned char *in,
                                         int count)
{
    int i = threadIdx.x, sum = 0;
    for (int k = 0; k < count; k++)
        sum += in[i * count + k];
    out[i] = sum;
}
