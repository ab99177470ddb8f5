float normal(float d)
{
    float k = 1 / (1 + 0.2316419f * fabs(d));
    float tail = 0.39894228f * exp(-0.5f * d * d) * k *
                 (0.31938153f +
                  k * (-0.356563782f +
                       k * (1.781477937f +
                            k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1 - tail : tail;
}

__kernel void black_scholes(__global const float *restrict price,
                            __global const float *restrict strike,
                            __global const float *restrict years,
                            __global float *restrict call,
                            __global float *restrict put, int n)
{
    const float rate = 0.02f, volatility = 0.3f;
    int i = get_global_id(0);
    float spread = volatility * sqrt(years[i]);
    float d1 = (log(price[i] / strike[i]) +
                (rate + 0.5f * volatility * volatility) * years[i]) /
               spread;
    float d2 = d1 - spread;
    float discounted = strike[i] * exp(-rate * years[i]);
    float first = normal(d1), second = normal(d2);
    call[i] = price[i] * first - discounted * second;
    put[i] = discounted * (1 - second) - price[i] * (1 - first);
}
