// Control flow: switch, goto, break, continue, returns from anywhere, nested
// loops whose trip counts differ from thread to thread.

// @run int n=256 grid=2 block=128
// @run int n=75 grid=1 block=5,5,3
extern "C" __global__ void switch_plain(int *out, const int *in, int n)
{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + t;
    int value = in[i];
    switch (value & 7) {
    case 0:
        value *= 2;
        break;
    case 1:
    case 2:
        value -= 100;
        break;
    case 5:
        value = i;
        break;
    default:
        value = -value;
    }
    out[i] = value;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void switch_falls_through(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = 0;
    switch (in[i] & 15) {
    case 3:
        value += 3;
    case 9:
        value += 90;
        if (i & 1)
            break;
    case 4:
        value += 400;
        break;
    case 12:
        return;
    }
    out[i] = value;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void switch_sparse(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    switch (in[i] * 1000003) {
    case -7000021: out[i] = 1; break;
    case 0: out[i] = 2; break;
    case 300000900: out[i] = 3; break;
    default: out[i] = in[i] > 0 ? 4 : 5;
    }
}

// @run int n=100 grid=1 block=100
extern "C" __global__ void switch_machine(int *out, const int *in, int n)
{
    int t = threadIdx.x, state = t % 5, steps = 0, sum = 0;
    while (steps++ < 40 && state != 9) {
        switch (state) {
        case 0: state = in[(t + steps) % n] & 1 ? 1 : 2; break;
        case 1: sum += 3; state = 3; break;
        case 2: sum -= in[t]; state = steps & 2 ? 0 : 4; break;
        case 3: if (sum > 50) { state = 9; continue; } state = 0; break;
        default: sum ^= 5; state = sum & 3;
        }
    }
    out[t] = sum * 100 + state;
}

// Lanes go apart within a round of a loop that they leave at different times.
// @run int n=96 grid=1 block=96
extern "C" __global__ void leave_from_the_middle(int *out, const int *in, int n)
{
    int t = threadIdx.x, state = t % 3, steps = 0, sum = 0;
    while (steps++ < 6 && state != 9) {
        if (state == 0) {
            state = in[t] & 1 ? 1 : 2;
        } else if (state == 1) {
            sum += 3;
            state = 0;
        } else {
            if (sum > 2) {
                state = 9;
                continue;
            }
            state = steps & 1;
        }
    }
    out[t] = sum * 100 + state;
}

// @run int n=200 grid=2 block=100
extern "C" __global__ void leave_by_goto(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 6; b++) {
            sum += in[(i + a * b) % n];
            if (sum > 900)
                goto done;
            if (sum < -900)
                goto low;
        }
    sum += 7;
    goto done;
low:
    sum = -sum;
done:
    out[i] = sum;
}

// @run int n=128 grid=1 block=128
extern "C" __global__ void loop_by_goto(int *out, const int *in, int n)
{
    int t = threadIdx.x, left = in[t] & 15, sum = 0;
again:
    sum += left * left;
    if (left-- > 0) {
        if (sum & 1)
            goto again;
        sum++;
        goto again;
    }
    out[t] = sum;
}

// Two ways into a loop.
// @run int n=128 grid=1 block=128
extern "C" __global__ void irreducible(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = in[t], left = 9;
    if (value & 1)
        goto second;
first:
    value = value * 3 + 1;
    if (--left == 0)
        goto done;
second:
    value -= t;
    value &= 0xfffff;
    if (value % 5 && --left > 0)
        goto first;
done:
    out[t] = value + left;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void break_and_continue(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int k = 0; k < 50; k++) {
        int value = in[(i * 3 + k) & 255];
        if (value < -500)
            continue;
        if (value > 900)
            break;
        sum += value;
        if (sum > 2000) {
            sum -= 2000;
            continue;
        }
        sum++;
    }
    out[i] = sum;
}

// @run int n=256 grid=2 block=128
// @run int n=99 grid=3 block=33
extern "C" __global__ void return_from_loop(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; k++) {
        int value = in[(i + k) % n];
        if (value > 600) {
            out[i] = k;
            return;
        }
        if (value == -77)
            continue;
        if (k > 20)
            break;
    }
    out[i] = -1;
}

// @run int n=120 grid=1 block=120
extern "C" __global__ void nested_trips(int *out, const int *in, int n)
{
    int t = threadIdx.x, sum = 0;
    for (int a = 0; a < t % 7; a++) {
        int b = a;
        while (b < (in[t] & 7)) {
            for (int c = b; c < a + 3; c++)
                sum += in[(a * b + c) % n] + c;
            if (sum & 1)
                b += 2;
            else
                b++;
        }
        if (sum > 3000)
            break;
    }
    out[t] = sum;
}

// @run int n=128 grid=1 block=128
extern "C" __global__ void do_while_trips(int *out, const int *in, int n)
{
    int t = threadIdx.x, value = abs(in[t]), digits = 0;
    do {
        digits++;
        value /= 10;
        if (digits == 3 && t & 1)
            continue;
    } while (value);
    out[t] = digits;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void uniform_around_divergent(int *out, const int *in,
                                                    int n)
{
    int i = blockIdx.x * 64 + threadIdx.x, sum = 0;
    for (int k = 0; k < n / 16; k++) {
        if (k == 3 && blockIdx.x == 1)
            continue;
        if (in[i] > k * 100) {
            sum += k;
            if (in[k] > 0)
                sum += in[k];
        } else if (in[k] < in[i]) {
            sum -= 3;
        }
    }
    out[i] = sum;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void short_circuits(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool a = i > 0 && in[i - 1] > in[i];
    bool b = i + 1 >= n || in[i + 1] > in[i];
    bool c = (i & 3) == 0 ? a || b : a != b;
    out[i] = a + 2 * b + 4 * c + 8 * (a && !b && i > 7 && in[i - 7] > 0);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void same_value_after_paths(int *out, const int *in,
                                                  int n)
{
    int t = threadIdx.x, a = 0, b = 1;
    if (in[t] > 0)
        a = 5, b = 6;
    else
        a = 6, b = 5;
    int last = 0;
    for (int k = 0; k < (in[t] & 7); k++)
        last = k;
    out[t] = a * 100 + b * 10 + last;
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void only_one_thread(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    if (t == 77 && blockIdx.x == 1) {
        int sum = 0;
        for (int k = 0; k < n; k++)
            sum += in[k];
        out[0] = sum;
    }
    if (t != 0 || blockIdx.x != 0)
        out[blockIdx.x * 128 + t] = t;
}

// @run int n=128 grid=2 block=64
extern "C" __global__ void all_return(int *out, const int *in, int n)
{
    if (blockIdx.x == 0 || threadIdx.x >= 64)
        return;
    int i = blockIdx.x * 64 + threadIdx.x;
    if (in[i] > 5000)
        return;
    out[i] = 1;
}
