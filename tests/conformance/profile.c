// What each api is known not to pass, and why. Printed by the test below, so
// that nothing is left out in silence.
#include "suite.h"

#include <stdio.h>

const struct profile_entry suite_profile[] = {
    // The end of the list: both backends pass everything.
    {"", "", "", false},
};
const size_t suite_profile_count =
    sizeof suite_profile / sizeof suite_profile[0] - 1;

// Half of the 8 hardware queues there are at least.
#define GPU_WAITING_MOST 4

size_t suite_waiting_most(size_t wanted)
{
    return suite_is_cpu() || wanted < GPU_WAITING_MOST ? wanted
                                                       : GPU_WAITING_MOST;
}

static size_t print_list(bool expected_failures, const char *title)
{
    size_t count = 0;
    for (size_t i = 0; i < suite_profile_count; i++) {
        const struct profile_entry *entry = &suite_profile[i];
        if (strcmp(entry->api, suite_api()) ||
            entry->expected_failure != expected_failures)
            continue;
        printf("%s: %s: %s\n", title, entry->test, entry->reason);
        count++;
    }
    return count;
}

RNL_TEST(the_profile_is_printed_and_has_reasons)
{
    size_t unsupported = print_list(false, "unsupported");
    size_t failing = print_list(true, "expected to fail");
    printf("%s: %zu tests unsupported, %zu expected to fail\n", suite_api(),
           unsupported, failing);
    for (size_t i = 0; i < suite_profile_count; i++)
        assert_true(strlen(suite_profile[i].reason) >= 12);
}
