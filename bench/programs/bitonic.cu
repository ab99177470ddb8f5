// One step of a bitonic sort, the form that most tutorials have: compares each
// value with the one whose index differs in the bit `distance`.
extern "C" __global__ void bitonic(float *values, int length, int distance)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned other = i ^ distance;
    if (other > i) {
        bool rising = (i & length) == 0;
        if ((values[i] > values[other]) == rising) {
            float kept = values[i];
            values[i] = values[other];
            values[other] = kept;
        }
    }
}
