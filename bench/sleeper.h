// The floor under every wake-up: a thread that sleeps in a futex, or on a
// condition variable, until it is woken.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sleeper {
    pthread_t thread;
    bool started;           // false: the system gave no thread
    bool conditional;       // sleeps on the condition, else in the futex
    _Atomic uint32_t command;
    _Atomic uint64_t ran_at;
    pthread_mutex_t mutex;  // guards the condition
    pthread_cond_t condition;
} sleeper;

void sleeper_start(sleeper *self, bool conditional);
void sleeper_stop(sleeper *self);

// ns from before the wake-up until the thread runs; for bench_variant.
double sleeper_sample(void *self);
