// Makes n pixels of red, green and blue bytes grey.
extern "C" __global__ void grey(const uchar3 *pixels, unsigned char *greys,
                                int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar3 pixel = pixels[i];
        greys[i] = 0.299f * pixel.x + 0.587f * pixel.y + 0.114f * pixel.z;
    }
}
