// One step of Floyd and Warshall's shortest paths between n nodes: paths may
// lead through the node `middle`.
extern "C" __global__ void floyd(int *lengths, int n, int middle)
{
    int to = blockIdx.x * blockDim.x + threadIdx.x;
    int from = blockIdx.y * blockDim.y + threadIdx.y;
    if (to >= n || from >= n)
        return;
    int through = lengths[from * n + middle] + lengths[middle * n + to];
    if (through < lengths[from * n + to])
        lengths[from * n + to] = through;
}
