// Forces of soft discs that touch, in a box of 256 x 256 cells as wide as a
// disc. The n discs are in the order of their cells; each looks through the
// nine cells around it.
#define CELLS 256

extern "C" __global__ void particles(const float2 *places,
                                     const int *first_of_cell, float2 *forces,
                                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 own = places[i];
    float2 force = make_float2(0.0f, 0.0f);
    int cell_x = (int)own.x, cell_y = (int)own.y;
    for (int y = max(cell_y - 1, 0); y <= min(cell_y + 1, CELLS - 1); y++) {
        for (int x = max(cell_x - 1, 0); x <= min(cell_x + 1, CELLS - 1); x++) {
            int cell = y * CELLS + x;
            for (int k = first_of_cell[cell]; k < first_of_cell[cell + 1];
                 k++) {
                if (k == i)
                    continue;
                float dx = own.x - places[k].x;
                float dy = own.y - places[k].y;
                float distance = sqrtf(dx * dx + dy * dy);
                if (distance < 1.0f && distance > 0.0f) {
                    float push = (1.0f - distance) / distance;
                    force.x += push * dx;
                    force.y += push * dy;
                }
            }
        }
    }
    forces[i] = force;
}
