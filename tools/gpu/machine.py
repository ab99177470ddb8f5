"""gpu-check run: where the programs are, and what machine this is."""

import os
import pathlib
import platform
import re
import shutil
import tempfile

import gpu.pack as pack
import gpu.running as running

# Settings of the caller that reach the programs; others could change what is
# measured.
_KEPT = re.compile(r"^(RUNNEL_(CUDA|NVRTC|HIP|HIPRTC|LOG|BLOCKING|DEVICES|THREADS"
                   r"|FAKE.*)|OVER_(CUDA|NVRTC)|CUDA_.*|NVIDIA_.*|HIP_.*|HSA_.*|ROC[MR]_.*"
                   r"|AMD_.*|GPU_.*|LD_PRELOAD|PATH|HOME|LANG|LC_.*|TMPDIR"
                   r"|USER|PYTHON.*|VIRTUAL_ENV)$")

_SMI = ("name,driver_version,compute_cap,memory.total,memory.used,pci.bus_id,"
        "clocks.sm,clocks.max.sm,power.limit,persistence_mode,mig.mode.current")


class Place:
    """A pack or a build folder, and the environment of its programs."""

    def __init__(self, folder, device):
        self.folder = pathlib.Path(folder).resolve()
        self.device = device
        self._cache = tempfile.TemporaryDirectory(prefix="runnel-gpu-check-")

    def environment(self, settings=()):
        values = {name: value for name, value in os.environ.items()
                  if _KEPT.match(name)}
        values["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [
            str(self.folder / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
        values["RUNNEL_TEST_DEVICE"] = self.device
        values["RUNNEL_CACHE_DIR"] = self._cache.name
        pack.unpack(self.folder)
        for name, variable in (("runnel-cc", "RUNNEL_CC"),
                               ("runnel-hip-cc", "RUNNEL_HIP_CC")):
            compiler = self.folder / "bin" / name
            if compiler.exists():
                values[variable] = str(compiler)
        values.update(setting.split("=", 1) for setting in settings)
        return values

    def program(self, name):
        return self.folder / "bin" / name


def _first_line(path, key):
    try:
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "?"


def _ask(command, place):
    if not shutil.which(str(command[0])):
        return f"{command[0]}: not there\n"
    return running.run(command, 30, place.environment()).output


def usual_device():
    """The device to check where none is asked for."""
    amd = os.path.exists("/dev/kfd") and not os.path.exists("/dev/nvidiactl")
    return "hip:0" if amd else "cuda:0"


def _cards(place):
    """What the vendor's tool says of the cards."""
    if place.device.startswith("hip"):
        return _ask(["rocm-smi", "--showproductname", "--showdriverversion",
                     "--showmeminfo", "vram", "--csv"], place)
    return _ask(["nvidia-smi", f"--query-gpu={_SMI}", "--format=csv"], place)


def _tools(place):
    if place.device.startswith("hip"):
        return [["rocm-smi", "--showtopo"], ["rocminfo"],
                ["hipconfig", "--full"]]
    return [["nvidia-smi", "topo", "-m"], ["nvcc", "--version"],
            ["compute-sanitizer", "--version"]]


def describe(place):
    """All that is known of the machine, as text, and a line of it."""
    cards = _cards(place)
    cores = len(os.sched_getaffinity(0))
    processor = _first_line("/proc/cpuinfo", "model name")
    parts = [f"{processor}, {cores} cores, Linux {platform.release()}, "
             f"load {os.getloadavg()[0]:.2f}",
             _first_line("/proc/meminfo", "MemTotal"),
             cards, *(_ask(tool, place) for tool in _tools(place)),
             _ask([place.program("runnel"), "info", "--features"], place)]
    rows = [row for row in cards.splitlines()
            if row and not row.startswith(("name,", "device,"))]
    line = f"{processor}, {cores} cores; {'; '.join(rows) or 'no card'}"
    return "\n".join(parts), line


def has_device(place):
    """Whether the device can be opened, and what the library says."""
    told = running.run([place.program("runnel"), "info"], 60,
                       place.environment())
    there = re.search(rf"^Device {re.escape(place.device)}$", told.output, re.M)
    return bool(there), told.output
