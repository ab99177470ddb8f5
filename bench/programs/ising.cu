// Half a Metropolis sweep of the Ising model on n x n spins with periodic
// edges: the cells of one colour of the checkerboard flip, those of the other
// stand still. Each colour has an array of n x n / 2 spins.
extern "C" __global__ void ising(signed char *spins, const signed char *others,
                                 const float *chances, int n)
{
    int half = n / 2;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= half || row >= n)
        return;
    int up = row > 0 ? row - 1 : n - 1;
    int down = row < n - 1 ? row + 1 : 0;
    int side;
    if (row % 2)
        side = column + 1 < half ? column + 1 : 0;
    else
        side = column > 0 ? column - 1 : half - 1;
    int sum = others[up * half + column] + others[down * half + column] +
              others[row * half + column] + others[row * half + side];
    signed char spin = spins[row * half + column];
    float ratio = expf(-0.88f * sum * spin);
    if (chances[row * half + column] < ratio)
        spins[row * half + column] = -spin;
}
