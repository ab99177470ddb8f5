"""gpu-check run: the kernels of the differential tests, on the device and, one
thread after the other, on the cpu: both must have the same results.
"""

import pathlib

import gpu.suite as suite

RANDOM_TESTS = 10
RANDOM_KERNELS = 24   # of a test
FIRST_SEED = 20000000
NOT_CUDA = {"extensions"}

TREE = pathlib.Path(__file__).resolve().parents[2]
CORPUS = "tests/differential/corpus"


def corpus_of(place):
    """The folder with the corpus: the pack's, or the tree's."""
    packed = place.folder / CORPUS
    return packed if packed.is_dir() else TREE / CORPUS


def tests_for(place, random_tests):
    sides = ["--second-device", place.device]
    tests = [suite.Test(f"kernels.corpus_{file.stem}",
                        ["bin/test-corpus", *sides, str(file)], [])
             for file in sorted(corpus_of(place).glob("*.cu"))
             if file.stem not in NOT_CUDA]
    for number in range(random_tests):
        seed = FIRST_SEED + number * RANDOM_KERNELS
        tests.append(suite.Test(
            f"kernels.random_{seed}",
            ["bin/test-differential", *sides, "--seed", str(seed),
             "--count", str(RANDOM_KERNELS), "--no-shrink"], []))
    return tests
