// Prices of n European options.
__device__ float normal(float d)
{
    float k = 1 / (1 + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) * k *
                 (0.31938153f +
                  k * (-0.356563782f +
                       k * (1.781477937f +
                            k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1 - tail : tail;
}

extern "C" __global__ void black_scholes(const float *__restrict__ price,
                                         const float *__restrict__ strike,
                                         const float *__restrict__ years,
                                         float *__restrict__ call,
                                         float *__restrict__ put, int n)
{
    const float rate = 0.02f, volatility = 0.3f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float spread = volatility * sqrtf(years[i]);
    float d1 = (logf(price[i] / strike[i]) +
                (rate + 0.5f * volatility * volatility) * years[i]) /
               spread;
    float d2 = d1 - spread;
    float discounted = strike[i] * expf(-rate * years[i]);
    float first = normal(d1), second = normal(d2);
    call[i] = price[i] * first - discounted * second;
    put[i] = discounted * (1 - second) - price[i] * (1 - first);
}
