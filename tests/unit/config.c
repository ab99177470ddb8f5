// core/config: the environment, read once. Each case is a child process, since
// it is read once for ever.
#include "unit.h"

#include "base/log.h"
#include "core/object/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    "RUNNEL_DEVICES", "RUNNEL_CPU_DEVICES", "RUNNEL_THREADS",
    "RUNNEL_SPIN_US", "RUNNEL_LOG", "RUNNEL_CC", "RUNNEL_CACHE_DIR",
    "RUNNEL_CACHE_DISABLE", "RUNNEL_BLOCKING", "RUNNEL_CONTAIN",
    "RUNNEL_SPECIALISE", "RUNNEL_CUDA", "RUNNEL_NVRTC", "RUNNEL_CACHE_SIZE",
    "RUNNEL_KERNEL_LIMIT"};

// True when `check` holds in a process with only `name` set.
static bool with(const char *name, const char *value,
                 bool (*check)(const struct config *))
{
    pid_t pid = test_fork();
    if (pid == 0) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            unsetenv(names[i]);
        if (name)
            setenv(name, value, 1);
        test_exit(check(config_get()) ? 0 : 1);
    }
    return test_wait(pid) == 0;
}

static bool is_default(const struct config *c)
{
    return !c->devices && c->cpu_devices == 1 && c->threads == 0 &&
           c->spin_ns > 0 && c->spin_ns <= 1000000 && c->log_level == 0 &&
           !c->blocking && !c->compiler && !c->cache_dir &&
           !c->cache_disabled && c->contain && !c->cuda && !c->nvrtc &&
           c->cache_size == UINT64_C(1) << 30 && c->kernel_limit_ns == 0 &&
           c->specialise_ns == 50000000;
}

RNL_TEST(without_environment_all_is_default)
{
    assert_true(with(NULL, NULL, is_default));
}

RNL_TEST(empty_values_are_no_values)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(with(names[i], "", is_default));
}

static bool devices_given(const struct config *c)
{
    return c->devices && !strcmp(c->devices, "cpu:1,cpu:0");
}

static bool four_devices(const struct config *c)
{
    return c->cpu_devices == 4;
}

static bool three_threads(const struct config *c)
{
    return c->threads == 3;
}

static bool no_spin(const struct config *c)
{
    return c->spin_ns == 0;
}

static bool spin_of_a_millisecond(const struct config *c)
{
    return c->spin_ns == 1000000;
}

static bool log_warnings(const struct config *c)
{
    return c->log_level == RNL_LOG_WARNING && log_wants(RNL_LOG_WARNING) &&
           !log_wants(RNL_LOG_INFO);
}

static bool compiler_given(const struct config *c)
{
    return c->compiler && !strcmp(c->compiler, "/opt/runnel-cc");
}

static bool disabled(const struct config *c)
{
    return c->cache_disabled;
}

static bool blocking(const struct config *c)
{
    return c->blocking;
}

static bool not_contained(const struct config *c)
{
    return !c->contain;
}

static bool not_specialised(const struct config *c)
{
    return c->specialise_ns == UINT64_MAX;
}

static bool limited(const struct config *c)
{
    return c->kernel_limit_ns == 250000000;
}

static bool specialised_at_once(const struct config *c)
{
    return c->specialise_ns == 0;
}

static bool nvrtc_off(const struct config *c)
{
    return c->nvrtc && !strcmp(c->nvrtc, "off");
}

static bool five_million(const struct config *c)
{
    return c->cache_size == 5000000;
}

static bool two_megabytes(const struct config *c)
{
    return c->cache_size == 2 << 20;
}

static bool no_room(const struct config *c)
{
    return c->cache_size == 0;
}

RNL_TEST(good_values_are_read)
{
    assert_true(with("RUNNEL_DEVICES", "cpu:1,cpu:0", devices_given));
    assert_true(with("RUNNEL_CPU_DEVICES", "4", four_devices));
    assert_true(with("RUNNEL_THREADS", "3", three_threads));
    assert_true(with("RUNNEL_SPIN_US", "0", no_spin));
    assert_true(with("RUNNEL_SPIN_US", "1000", spin_of_a_millisecond));
    assert_true(with("RUNNEL_LOG", "warning", log_warnings));
    assert_true(with("RUNNEL_LOG", "WARNING", log_warnings));
    assert_true(with("RUNNEL_CC", "/opt/runnel-cc", compiler_given));
    assert_true(with("RUNNEL_CACHE_DISABLE", "1", disabled));
    assert_true(with("RUNNEL_NVRTC", "off", nvrtc_off));
    assert_true(with("RUNNEL_CACHE_SIZE", "5000000", five_million));
    assert_true(with("RUNNEL_CACHE_SIZE", "2M", two_megabytes));
    assert_true(with("RUNNEL_CACHE_SIZE", "2048k", two_megabytes));
    assert_true(with("RUNNEL_CACHE_SIZE", "0", no_room));
    assert_true(with("RUNNEL_BLOCKING", "yes", blocking));
    assert_true(with("RUNNEL_CONTAIN", "0", not_contained));
    assert_true(with("RUNNEL_KERNEL_LIMIT", "250", limited));
    assert_true(with("RUNNEL_SPECIALISE", "0", not_specialised));
    assert_true(with("RUNNEL_SPECIALISE", "now", specialised_at_once));
}

RNL_TEST(bad_values_leave_the_default)
{
    const char *const rows[][2] = {
        {"RUNNEL_KERNEL_LIMIT", "-1"}, {"RUNNEL_KERNEL_LIMIT", "2s"},
        {"RUNNEL_KERNEL_LIMIT", "86400001"},
        {"RUNNEL_CPU_DEVICES", "0"}, {"RUNNEL_CPU_DEVICES", "-1"},
        {"RUNNEL_CPU_DEVICES", "17"}, {"RUNNEL_CPU_DEVICES", "two"},
        {"RUNNEL_CPU_DEVICES", "4x"}, {"RUNNEL_CPU_DEVICES", " 4"},
        {"RUNNEL_CPU_DEVICES", "99999999999999999999999"},
        {"RUNNEL_THREADS", "-3"}, {"RUNNEL_THREADS", "1e3"},
        {"RUNNEL_THREADS", "4294967296"}, {"RUNNEL_THREADS", "+2"},
        {"RUNNEL_SPIN_US", "-1"}, {"RUNNEL_SPIN_US", "0x10"},
        {"RUNNEL_SPIN_US", "18446744073709551615"},
        {"RUNNEL_LOG", "loud"}, {"RUNNEL_LOG", "4"},
        {"RUNNEL_CACHE_DISABLE", "0"}, {"RUNNEL_BLOCKING", "0"},
        {"RUNNEL_CACHE_DISABLE", "no"}, {"RUNNEL_BLOCKING", "Off"},
        {"RUNNEL_BLOCKING", "false"},
        {"RUNNEL_CACHE_SIZE", "-1"}, {"RUNNEL_CACHE_SIZE", "x"},
        {"RUNNEL_CACHE_SIZE", "5T"}, {"RUNNEL_CACHE_SIZE", "5MB"},
        {"RUNNEL_CACHE_SIZE", "99999999999999999999"},
        {"RUNNEL_CACHE_SIZE", "20000000000G"},
        {"RUNNEL_CONTAIN", "1"}, {"RUNNEL_CONTAIN", "no"},
        {"RUNNEL_SPECIALISE", "1"}, {"RUNNEL_SPECIALISE", "2"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!with(rows[i][0], rows[i][1], is_default))
            fail_msg("%s=%s was not ignored", rows[i][0], rows[i][1]);
}

RNL_TEST(values_that_are_too_long_are_ignored)
{
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    assert_true(with("RUNNEL_DEVICES", text, is_default));
    assert_true(with("RUNNEL_CC", text, is_default));
    assert_true(with("RUNNEL_CACHE_DIR", text, is_default));
    assert_true(with("RUNNEL_THREADS", text, is_default));
}
