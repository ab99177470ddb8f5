// One step of PageRank over n pages: each collects the shares of the pages that
// link to it, which lie in compressed rows.
extern "C" __global__ void pagerank(const int *first_links, const int *links,
                                    const float *shares, float *ranks, int n)
{
    int page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page < n) {
        float sum = 0.0f;
        for (int i = first_links[page]; i < first_links[page + 1]; i++)
            sum += shares[links[i]];
        ranks[page] = 0.15f / n + 0.85f * sum;
    }
}
