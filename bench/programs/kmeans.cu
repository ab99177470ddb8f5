// Finds for each of n points the nearest of 16 centres. A point has 8 features;
// the points' are in rows, one a feature.
#define FEATURES 8
#define CENTRES 16

extern "C" __global__ void kmeans(const float *features, const float *centres,
                                  int *nearest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int best = 0;
    float least = 3.4e38f;
    for (int c = 0; c < CENTRES; c++) {
        float distance = 0;
        for (int f = 0; f < FEATURES; f++) {
            float part = features[f * n + i] - centres[c * FEATURES + f];
            distance += part * part;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    nearest[i] = best;
}
