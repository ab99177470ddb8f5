__kernel void nbody(__global const float4 *restrict bodies,
                    __global float4 *restrict result, int n)
{
    __local float4 tile[256];
    int t = get_local_id(0);
    float4 own = bodies[get_global_id(0)];
    float ax = 0, ay = 0, az = 0;
    for (int first = 0; first < n; first += 256) {
        tile[t] = bodies[first + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 256; k++) {
            float4 other = tile[k];
            float dx = other.x - own.x;
            float dy = other.y - own.y;
            float dz = other.z - own.z;
            float near = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = other.w * near * near * near;
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    result[get_global_id(0)] = (float4)(ax, ay, az, 0);
}
