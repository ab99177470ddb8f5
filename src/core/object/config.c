#include "core/object/config.h"

#include "base/env.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/thread.h"
#include "core/tuning.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SPECIALISE_DEFAULT 1
#define LIMIT_MOST_MS UINT64_C(86400000)  // a day
#define TEXT_SIZE 1024

static struct config config;
static char devices[TEXT_SIZE], compiler[TEXT_SIZE], cache_dir[TEXT_SIZE];
static char cuda[TEXT_SIZE], nvrtc[TEXT_SIZE], staging[TEXT_SIZE];
static char hip[TEXT_SIZE], hiprtc[TEXT_SIZE], hip_compiler[TEXT_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool config_read;

// Copied, because the host may change its environment at any time.
static const char *read_text(const char *name, char *store)
{
    const char *value = env_get(name);
    if (!value || !value[0])
        return NULL;
    if (strlen(value) >= TEXT_SIZE) {
        log_write(RNL_LOG_WARNING, "%s is too long and was ignored", name);
        return NULL;
    }
    return strcpy(store, value);
}

static uint64_t read_number(const char *name, uint64_t most, uint64_t otherwise)
{
    const char *value = env_get(name);
    if (!value || !value[0])
        return otherwise;
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || number > most) {
        log_write(RNL_LOG_WARNING,
                  "%s='%s' is no number from 0 to %llu and was ignored", name,
                  value, (unsigned long long)most);
        return otherwise;
    }
    return number;
}

// A number of bytes, with K, M or G behind it or nothing.
static uint64_t read_size(const char *name, uint64_t otherwise)
{
    static const char letters[] = "KMG";
    const char *value = env_get(name);
    if (!value || !value[0])
        return otherwise;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    const char *letter =
        *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    int shift = letter ? (int)(letter - letters + 1) * 10 : 0;
    if (!isdigit((unsigned char)value[0]) || errno ||
        (letter ? end[1] : *end) || number > UINT64_MAX >> shift) {
        log_write(RNL_LOG_WARNING,
                  "%s='%s' is no number of bytes and was ignored", name,
                  value);
        return otherwise;
    }
    return (uint64_t)number << shift;
}

// Set to anything but a word for no.
static bool read_flag(const char *name)
{
    static const char *const words[] = {"", "0", "no", "off", "false"};
    const char *value = env_get(name);
    for (size_t i = 0; value && i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(value, words[i]) == 0)
            return false;
    return value != NULL;
}

// How long a kernel runs before the library compiles the kernel for its block
// size: long enough for the gain to pay for the compiler.
static uint64_t read_specialise(void)
{
    const char *value = env_get("RUNNEL_SPECIALISE");
    if (value && strcmp(value, "now") == 0)
        return 0;
    return read_number("RUNNEL_SPECIALISE", 1, SPECIALISE_DEFAULT)
               ? SPECIALISE_AFTER_NS : UINT64_MAX;
}

static int read_log_level(void)
{
    static const char *const names[] = {"off", "error", "warning", "info",
                                        "debug"};
    const char *value = env_get("RUNNEL_LOG");
    for (int i = 0; value && i < 5; i++)
        if (strcasecmp(value, names[i]) == 0)
            return i;
    return 0;
}

static void read_all(void)
{
    config.log_level = read_log_level();
    log_set_default(config.log_level);
    config.devices = read_text("RUNNEL_DEVICES", devices);
    config.cpu_devices = (unsigned)read_number("RUNNEL_CPU_DEVICES", 16, 1);
    if (config.cpu_devices == 0)
        config.cpu_devices = 1;
    config.threads = (unsigned)read_number("RUNNEL_THREADS", 1024, 0);
    config.spin_ns =
        read_number("RUNNEL_SPIN_US", 1000000, SPIN_DEFAULT_US) * 1000;
    config.blocking = read_flag("RUNNEL_BLOCKING");
    config.compiler = read_text("RUNNEL_CC", compiler);
    config.cuda = read_text("RUNNEL_CUDA", cuda);
    config.nvrtc = read_text("RUNNEL_NVRTC", nvrtc);
    config.hip = read_text("RUNNEL_HIP", hip);
    config.hiprtc = read_text("RUNNEL_HIPRTC", hiprtc);
    config.hip_compiler = read_text("RUNNEL_HIP_CC", hip_compiler);
    config.staging = read_text("RUNNEL_STAGING", staging);
    config.cache_dir = read_text("RUNNEL_CACHE_DIR", cache_dir);
    config.cache_size = read_size("RUNNEL_CACHE_SIZE", CACHE_SIZE_DEFAULT);
    config.cache_disabled = read_flag("RUNNEL_CACHE_DISABLE");
    config.specialise_ns = read_specialise();
    config.contain = read_number("RUNNEL_CONTAIN", 1, 1) != 0;
    config.kernel_limit_ns =
        read_number("RUNNEL_KERNEL_LIMIT", LIMIT_MOST_MS, 0) * 1000000;
}

const struct config *config_get(void)
{
    // Every operation asks: pthread_once is too slow for that.
    if (!atomic_load_explicit(&config_read, memory_order_acquire)) {
        pthread_once(&once, read_all);
        atomic_store_explicit(&config_read, true, memory_order_release);
    }
    return &config;
}
