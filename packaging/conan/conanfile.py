"""Runnel as a Conan 2 package, from the tree that this recipe lies in."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, save

# runnel_add_kernels, with the program that it takes.
MODULE = "lib/cmake/Runnel/RunnelConan.cmake"
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class RunnelConan(ConanFile):
    name = "runnel"
    description = "Streams, events, graphs and run-time compiled kernels on CPUs and GPUs"
    license = "Apache-2.0"
    topics = ("gpu", "cuda", "kernels", "streams", "simt")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "compiler": [True, False]}
    # The kernel compiler is linked with static libraries of LLVM 19, which the
    # build machine has.
    default_options = {"shared": True, "compiler": False}

    def set_version(self):
        header = load(self, os.path.join(TREE, "include/runnel/version.h"))
        self.version = ".".join(
            re.findall(r"#define RNL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for folder in ("include", "src", "compiler", "cli", "cmake", "docs",
                       "examples", "packaging"):
            copy(self, f"{folder}/*", TREE, self.export_sources_folder)
        for name in ("CMakeLists.txt", "LICENSE", "NOTICES", "README.md",
                     "CHANGELOG.md"):
            copy(self, name, TREE, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Runnel runs on Linux")

    def layout(self):
        cmake_layout(self)

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def requirements(self):
        self.requires("xxhash/[>=0.8.1]", visible=False)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["RUNNEL_BUILD_COMPILER"] = bool(self.options.compiler)
        for part in ("CLI", "COMM", "EXAMPLES", "TESTS", "BENCH", "PYTHON"):
            toolchain.cache_variables[f"RUNNEL_BUILD_{part}"] = part in ("CLI", "COMM")
        includes = self.dependencies["xxhash"].cpp_info.includedirs
        toolchain.cache_variables["RUNNEL_XXHASH_FOLDER"] = includes[0]
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        # CMakeDeps replaces RunnelConfig.cmake.
        save(self, os.path.join(self.package_folder, MODULE),
             "set_property(GLOBAL PROPERTY RUNNEL_PROGRAM\n"
             "    ${CMAKE_CURRENT_LIST_DIR}/../../../bin/runnel)\n"
             "include(${CMAKE_CURRENT_LIST_DIR}/RunnelKernels.cmake)\n")

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Runnel")
        self.cpp_info.set_property("cmake_build_modules", [MODULE])
        runnel = self.cpp_info.components["runnel"]
        runnel.libs = ["runnel"]
        runnel.system_libs = ["dl", "pthread"]
        runnel.set_property("cmake_target_name", "Runnel::runnel")
        runnel.set_property("pkg_config_name", "runnel")
        if self.options.shared:
            comm = self.cpp_info.components["comm"]
            comm.libs = ["runnel-comm"]
            comm.requires = ["runnel"]
            comm.set_property("cmake_target_name", "Runnel::comm")
            comm.set_property("pkg_config_name", "runnel-comm")
