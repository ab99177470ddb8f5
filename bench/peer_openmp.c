#include "peer_openmp.h"

#ifdef _OPENMP

#include <omp.h>
#include <string.h>

static int threads(void)
{
    return omp_get_max_threads();
}

static void region(void)
{
#pragma omp parallel
    {
        // An empty region would be optimised away.
        __asm__ volatile("" ::: "memory");
    }
}

static void axpy(float a, const float *restrict x, float *restrict y,
                 size_t count)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

static void copy(void *to, const void *from, size_t size)
{
#pragma omp parallel
    {
        size_t count = (size_t)omp_get_num_threads();
        size_t me = (size_t)omp_get_thread_num();
        size_t begin = size / count * me;
        size_t end = me + 1 == count ? size : size / count * (me + 1);
        memcpy((char *)to + begin, (const char *)from + begin, end - begin);
    }
}

static void tasks(int *cells, size_t wide, size_t levels)
{
    char join = 0, fork[64];
    (void)join;
    (void)fork;  // named in dependences alone
#pragma omp parallel
#pragma omp single
    for (size_t level = 0; level < levels; level++) {
        for (size_t i = 0; i < wide; i++) {
            int *cell = cells + i * 16;
#pragma omp task depend(in : join) depend(out : fork[i]) firstprivate(cell)
            *cell += 1;
        }
        // All of the level's tasks come before it.
#pragma omp task depend(iterator(size_t i = 0:wide), in : fork[i]) \
    depend(out : join)
        {
        }
    }
}

static void loop(openmp_schedule schedule, void (*body)(void *data, size_t i),
                 void *data, size_t count)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic,
                                        omp_sched_guided};
    omp_set_schedule(kinds[schedule], 1);
#pragma omp parallel for schedule(runtime)
    for (size_t i = 0; i < count; i++)
        body(data, i);
}

static const openmp_peer peer = {threads, region, axpy, copy, tasks, loop};

const openmp_peer *openmp_peer_open(const char **out_why)
{
    *out_why = NULL;
    return &peer;
}

#else

const openmp_peer *openmp_peer_open(const char **out_why)
{
    *out_why = "built without OpenMP";
    return NULL;
}

#endif
