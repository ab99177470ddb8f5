"""gpu-check run: the kernels of the differential tests, on the device and, one
thread after the other, on the cpu: both must have the same results. And random
programs of calls, which must do what a model says.
"""

import pathlib

import gpu.suite as suite

RANDOM_TESTS = 10
RANDOM_KERNELS = 24  # of a test
PROGRAMS = 20        # of a test: each opens the device anew
FIRST_SEED = 20000000
NOT_CUDA = {"extensions"}

TREE = pathlib.Path(__file__).resolve().parents[2]
CORPUS = "tests/differential/corpus"


def corpus_of(place):
    """The folder with the corpus: the pack's, or the tree's."""
    packed = place.folder / CORPUS
    return packed if packed.is_dir() else TREE / CORPUS


# Streams that share a hardware queue hold each other up while they wait.
QUEUES = ["CUDA_DEVICE_MAX_CONNECTIONS=32"]


def _random(number, program, count, options):
    seed = FIRST_SEED + number * count
    return suite.Test(f"{program}.random_{seed}",
                      [f"bin/test-{program}", *options, "--seed", str(seed),
                       "--count", str(count), "--no-shrink"], QUEUES)


def tests_for(place, random_tests):
    sides = ["--second-device", place.device]
    tests = [suite.Test(f"differential.corpus_{file.stem}",
                        ["bin/test-corpus", *sides, str(file)], [])
             for file in sorted(corpus_of(place).glob("*.cu"))
             if file.stem not in NOT_CUDA]
    for number in range(random_tests):
        tests.append(_random(number, "differential", RANDOM_KERNELS, sides))
        tests.append(_random(number, "programs", PROGRAMS, []))
    return tests
