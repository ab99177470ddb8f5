// One level of a breadth-first search over a graph of n nodes in compressed
// rows: who is in the frontier gives the level to its neighbours that nobody
// has visited, and marks them for the next one.
extern "C" __global__ void bfs(const int *first_edges, const int *edges,
                               const unsigned char *frontier,
                               const unsigned char *visited, int *levels,
                               unsigned char *marked, int n, int level)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n || !frontier[node])
        return;
    for (int i = first_edges[node]; i < first_edges[node + 1]; i++) {
        int other = edges[i];
        if (!visited[other]) {
            levels[other] = level;
            marked[other] = 1;
        }
    }
}
