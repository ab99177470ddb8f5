"""Runnel as a Spack package, from the tree that this recipe lies in."""

import os

from spack.package import *

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../.."))


class Runnel(CMakePackage):
    """Streams, events, graphs and run-time compiled kernels on CPUs and GPUs."""

    git = "file://" + TREE

    license("Apache-2.0")

    version("0.1.0", branch="main")

    variant("shared", default=True, description="Build a shared library")
    variant("compiler", default=True, description="Build the compiler of kernels for CPUs")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+compiler")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("xxhash")
    depends_on("llvm@19 +clang +lld ~llvm_dylib", when="+compiler")
    depends_on("zlib-api", when="+compiler")
    depends_on("zstd libs=static", when="+compiler")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    generator("ninja")

    def cmake_args(self):
        off = ("EXAMPLES", "TESTS", "BENCH", "PYTHON")
        return [self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
                self.define_from_variant("RUNNEL_BUILD_COMPILER", "compiler"),
                self.define("RUNNEL_BUILD_COMM", True),
                self.define("RUNNEL_XXHASH_FOLDER", self.spec["xxhash"].prefix.include),
                *(self.define(f"RUNNEL_BUILD_{part}", False) for part in off)]
