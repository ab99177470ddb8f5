"""gpu-check run: some tests of the suite with compute-sanitizer, which looks
for accesses out of bounds, uses of memory that is not allocated yet or any more
in the order of the streams, and leaks.
"""

import collections
import os
import re
import shutil

import gpu.suite as suite

ERRORS = 99  # its exit status when it found something
TEST_LIMIT = 120
JOBS_MOST = 4

OPTIONS = ["--tool", "memcheck", "--leak-check", "full",
           "--track-stream-ordered-races", "all",
           "--target-processes", "all", "--print-limit", "20",
           "--error-exitcode", str(ERRORS)]

# Whatever allocates, frees and writes, once in each way; nothing that fails
# on purpose. No WHILE: with one, a program of plain driver calls, too, is said to
# use memory before it is allocated, and in one of six runs accesses what it must
# not, which it never does without compute-sanitizer.
CHOSEN = """
scalar_add indices_in_three_dimensions static_shared_memory_and_barriers
dynamic_shared_memory_beyond_48_kb constants_are_mapped_in_stream_order
a_struct_by_value_reaches_the_kernel
atomics_lose_nothing launches_are_asynchronous
compiled_kernels_are_the_same_in_all_ways
a_buffer_made_in_stream_order_is_usable_behind
a_zeroed_buffer_in_stream_order_is_zero_behind zeroed_buffers_are_zero
a_released_buffer_lives_until_its_work_is_done
the_release_stream_can_be_changed memory_waits_for_its_release_stream
memory_in_use_on_another_stream_is_not_used_again
memory_is_anybodys_once_the_release_stream_passed
what_was_a_buffer_leaves_nothing_to_the_next
trimming_keeps_what_is_asked_for_and_what_is_in_use
threads_release_each_others_buffers_once
a_managed_buffer_has_one_address a_host_buffer_is_reached_from_both_sides
bytes_go_there_and_back a_large_copy_is_complete
a_plane_is_copied_between_pitches a_box_is_copied_between_pitches
a_batch_does_all_its_copies pinned_and_managed_memory_copy_like_any_other
fills_of_every_pattern_size a_box_is_filled_within_its_pitches
fills_and_copies_run_in_the_order_of_their_edges
a_diamond_runs_each_node_once_and_in_order
buffers_made_in_a_capture_are_part_of_it two_forks_are_joined
a_buffer_of_a_graph_lives_as_long_as_somebody_has_it
a_stream_waits_for_an_event host_functions_run_in_stream_order
values_work_in_device_memory a_mapping_shows_what_the_stream_wrote
a_module_has_functions_and_globals a_global_is_a_borrowed_buffer_of_its_size
work_in_flight_keeps_all_it_uses contexts_come_and_go
batched_work_runs_in_order threads_share_a_batched_stream
batched.scalar_add batched.work_in_flight_keeps_all_it_uses
batched.a_batch_does_all_its_copies
""".split()


def find():
    program = shutil.which("compute-sanitizer")
    usual = "/usr/local/cuda/bin/compute-sanitizer"
    return program or (usual if os.access(usual, os.X_OK) else None)


def choose(tests, pattern):
    if pattern:
        return [test for test in tests if re.search(pattern, test.name)]
    names = {f"conformance.{name}" for name in CHOSEN}
    return [test for test in tests if test.name in names]


def findings(output):
    """What it reported, each with how often; numbers make no difference."""
    found = collections.Counter()
    for line in output.splitlines():
        message = re.match(r"=========\s{1,2}([A-Z].*)", line)
        if message and not re.match(r"(COMPUTE-SANITIZER|ERROR SUMMARY|"
                                    r"LEAK SUMMARY|Host Frame|Target|"
                                    r"Saved host)", message[1]):
            found[re.sub(r"0x[0-9a-f]+|\d+", "#", message[1])] += 1
    return found


def judge(result):
    state, why = suite.judge(result)
    found = findings(result.output)
    if result.code == ERRORS or (found and state == "passed"):
        told = found.most_common(1)
        return "failed", told[0][0] if told else "it found something"
    if state == "passed" and "COMPUTE-SANITIZER" not in result.output:
        return "failed", f"it did not run: {suite.cause(result.output)}"
    return state, why


class Sanitized(suite.Suite):
    judge = staticmethod(judge)

    def __init__(self, where, options, clock, program):
        super().__init__(where, options, clock)
        self.program = program
        self.jobs = min(options.jobs, JOBS_MOST)
        self.test_limit = max(options.test_limit, TEST_LIMIT)

    def wrap(self, _test):
        return [self.program, *OPTIONS]


def lines_of(ran):
    lines = suite.lines_of(ran, 12)
    found = collections.Counter()
    for outcome in ran.outcomes.values():
        found.update(findings(outcome.output))
    for message, count in found.most_common(12):
        lines.append(f"  {count:5} x {message[:150]}")
    return lines
