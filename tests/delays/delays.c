// A library to preload: it delays threads where that finds races.
//
//   LD_PRELOAD=libdelays.so RUNNEL_DELAYS=seed program
//
// At calls that lock, wait, wake and start threads a thread sleeps up to 200 us
// now and then, or yields. Locks that are inlined have no calls: a thread of
// this library interrupts the others at random instructions and delays them
// there, wherever they are. Children get neither.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_US = 200, ONE_OF = 6, PERIOD_US = 400 };

static uint64_t seed;
static _Atomic uint64_t threads, delays, interruptions;
static pid_t owner;

// Each thread has numbers of its own, by the order in which threads first come.
static uint32_t random_below(uint32_t end)
{
    static _Thread_local uint64_t state;
    if (state == 0)
        state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
                (atomic_fetch_add(&threads, 1) + 1) *
                    UINT64_C(0xbf58476d1ce4e5b9);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % end;
}

static void sleep_us(uint32_t time)
{
    int error = errno;
    nanosleep(&(struct timespec){.tv_nsec = time * 1000L}, NULL);
    errno = error;
}

static void delay(void)
{
    if (seed == 0 || random_below(ONE_OF))
        return;
    atomic_fetch_add_explicit(&delays, 1, memory_order_relaxed);
    if (random_below(2))
        sleep_us(random_below(LONGEST_US));
    else
        sched_yield();
}

// --- At calls --------------------------------------------------------------

// Locking, waiting and waking: delayed before and behind.
#define DELAYED(type, name, parameters, arguments)                         \
    type name parameters                                                   \
    {                                                                      \
        static __typeof__(name) *_Atomic real;                             \
        if (!atomic_load(&real)) {                                         \
            __typeof__(name) *found = NULL;                                \
            *(void **)&found = dlsym(RTLD_NEXT, #name);                    \
            atomic_store(&real, found);                                    \
        }                                                                  \
        delay();                                                           \
        type given_back = atomic_load(&real) arguments;                           \
        delay();                                                           \
        return given_back;                                                 \
    }

DELAYED(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
DELAYED(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
DELAYED(int, pthread_cond_signal, (pthread_cond_t * cond), (cond))
DELAYED(int, pthread_cond_broadcast, (pthread_cond_t * cond), (cond))
DELAYED(int, pthread_once, (pthread_once_t * once, void (*run)(void)),
        (once, run))
DELAYED(int, sem_post, (sem_t * sem), (sem))
DELAYED(int, sem_wait, (sem_t * sem), (sem))
DELAYED(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes,
         void *(*run)(void *), void *argument),
        (thread, attributes, run, argument))
DELAYED(int, pthread_join, (pthread_t thread, void **result),
        (thread, result))

// The library's futexes go through here.
long syscall(long number, ...)
{
    static long (*_Atomic real)(long, ...);
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    if (!atomic_load(&real)) {
        long (*found)(long, ...) = NULL;
        *(void **)&found = dlsym(RTLD_NEXT, "syscall");
        atomic_store(&real, found);
    }
    if (number == SYS_futex)
        delay();
    long result = atomic_load(&real)(number, words[0], words[1], words[2],
                                     words[3], words[4], words[5]);
    int error = errno;
    if (number == SYS_futex)
        delay();
    errno = error;
    return result;
}

// --- Anywhere --------------------------------------------------------------

static int signal_number;

static void interrupted(int number)
{
    (void)number;
    atomic_fetch_add_explicit(&interruptions, 1, memory_order_relaxed);
    sleep_us(random_below(LONGEST_US));
}

// Threads that block all signals leave ours alone.
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*_Atomic real)(int, const sigset_t *, sigset_t *);
    sigset_t less;
    if (!atomic_load(&real)) {
        int (*found)(int, const sigset_t *, sigset_t *) = NULL;
        *(void **)&found = dlsym(RTLD_NEXT, "pthread_sigmask");
        atomic_store(&real, found);
    }
    if (set && how != SIG_UNBLOCK && signal_number) {
        less = *set;
        sigdelset(&less, signal_number);
        set = &less;
    }
    return atomic_load(&real)(how, set, old);
}

static void interrupt_one(pid_t self)
{
    pid_t found[256];
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != self &&
            count < 256)
            found[count++] = atoi(entry->d_name);
    if (folder)
        closedir(folder);
    if (count > 0)
        syscall(SYS_tgkill, owner, found[random_below(count)], signal_number);
}

static void *interrupt(void *unused)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    (void)unused;
    for (;;) {
        sleep_us(random_below(PERIOD_US));
        interrupt_one(self);
    }
    return NULL;
}

static void tell(void)
{
    if (getpid() == owner)
        printf("figure: delays %llu\nfigure: interruptions %llu\n",
               (unsigned long long)delays, (unsigned long long)interruptions);
}

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("RUNNEL_DELAYS");
    pthread_t thread;
    owner = getpid();
    seed = given ? strtoull(given, NULL, 10) : 0;
    unsetenv("LD_PRELOAD");
    unsetenv("RUNNEL_DELAYS");
    if (seed == 0)
        return;
    atexit(tell);
    signal_number = SIGRTMAX - 3;
    struct sigaction action = {.sa_handler = interrupted,
                               .sa_flags = SA_RESTART | SA_ONSTACK};
    sigaction(signal_number, &action, NULL);
    pthread_create(&thread, NULL, interrupt, NULL);
}
