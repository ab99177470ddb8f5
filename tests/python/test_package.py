"""The package as it is installed: everything that it needs is in it."""

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("numpy")

BUILD = os.environ.get("RUNNEL_BUILD", "")

PROGRAM = """
import numpy as np, runnel
assert runnel.__file__.startswith(%r), runnel.__file__
add = runnel.kernel('''
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}''', "add", context=runnel.Context("cpu"))
a = np.arange(5, dtype=np.float32)
c = np.empty_like(a)
add(a.size, a, a, c, a.size)
print(c)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    if not shutil.which("cmake") or \
            not os.path.exists(os.path.join(BUILD, "cmake_install.cmake")):
        pytest.skip("there is no build folder, or no cmake")
    folder = str(tmp_path_factory.mktemp("site"))
    done = subprocess.run(
        ["cmake", "--install", BUILD, "--component", "python", "--prefix",
         folder, "--strip"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=100)
    assert done.returncode == 0, done.stdout
    yield folder
    shutil.rmtree(folder)


def run(installed, tmp_path, *arguments):
    """Without any other program, and without a place that names this build."""
    numpy = os.path.dirname(os.path.dirname(__import__("numpy").__file__))
    return subprocess.run(
        [sys.executable, *arguments], timeout=100, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=str(tmp_path),
        env={"PYTHONPATH": os.pathsep.join([installed, numpy]), "PATH": "",
             "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})


def test_kernels_compile_without_any_other_program(installed, tmp_path):
    done = run(installed, tmp_path, "-c", PROGRAM % installed)
    assert (done.returncode, done.stdout) == (0, "[0. 2. 4. 6. 8.]\n")


def test_the_command_line_program_is_there(installed, tmp_path):
    done = run(installed, tmp_path, "-m", "runnel", "info")
    assert done.returncode == 0 and "cpu:0" in done.stdout
    assert os.path.join(installed, "runnel", "_lib") in done.stdout


def test_notices_of_what_is_linked_in_are_there(installed):
    folder = os.path.join(installed, "runnel", "_lib", "share", "doc", "runnel")
    with open(os.path.join(folder, "NOTICES"), encoding="utf-8") as file:
        text = file.read()
    assert "clang, LLVM and lld" in text
    for line in text.splitlines():
        if "licence text: " in line:
            assert os.path.exists(os.path.join(folder, line.split(": ")[1]))


def test_nothing_else_of_the_tree_is_installed(installed):
    assert os.listdir(installed) == ["runnel"]
    assert os.path.exists(os.path.join(installed, "runnel", "py.typed"))
    assert os.path.exists(os.path.join(installed, "runnel", "_core.pyi"))
