"""The types that editors and checkers see are those that are there."""

import os
import subprocess
import sys

import pytest

import runnel

version = pytest.importorskip("mypy.version", reason="mypy is not installed")
if tuple(map(int, version.__version__.split(".")[:2])) < (1, 18):
    pytest.skip("mypy is older than 1.18, and knows no disjoint_base",
                allow_module_level=True)

SAMPLE = """
import runnel
context = runnel.Context("cpu:0")
with context.stream(label="x") as stream, runnel.Promise(context) as promise:
    buffer: runnel.Buffer = context.buffer((2, 3), "float32", zeroed=True)
    function = context.compile("", "f")
    stream.enqueue_function(function, (1, 2), 32, buffer, 5, label="y")
    with stream.capture() as capture:
        stream.enqueue_fill(buffer, 1.5)
    if capture.graph is not None:
        stream.enqueue_graph(capture.graph.instantiate())
    try:
        stream.synchronize(timeout=1.5)
    except runnel.TimedOut as error:
        line: int = error.site[1] if error.site else 0
runnel.kernel("", "f", block=(16, 16))(100, buffer)
"""


def run(*command):
    folder = os.path.dirname(os.path.dirname(runnel.__file__))
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=110)
    assert done.returncode == 0, done.stdout


def test_the_package_is_typed(tmp_path):
    run("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "runnel")


def test_a_program_is_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SAMPLE)
    run("mypy", "--strict", "--cache-dir", str(tmp_path), str(program))
    program.write_text(SAMPLE + "stream.enqueue_fill(5, 1)\n")
    with pytest.raises(AssertionError, match="Buffer"):
        run("mypy", "--strict", "--cache-dir", str(tmp_path), str(program))


def test_the_stubs_are_what_is_there(tmp_path):
    allowed = tmp_path / "allowed"
    # What Python 3.12 and later show of the buffer protocol.
    allowed.write_text("runnel._core.Buffer.__(release_)?buffer__\n")
    run("mypy.stubtest", "runnel._core", "--ignore-positional-only",
        "--ignore-unused-allowlist",
        "--allowlist", str(allowed))
