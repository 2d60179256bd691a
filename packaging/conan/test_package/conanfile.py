# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Builds a program with the package and runs it."""
import os

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        options = self.dependencies["cofferdam"].options
        components = ["core"] + ([] if options.core_only else ["cofferdam"]) + (["compiled"] if options.compiled else [])
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COFFERDAM_COMPONENTS"] = ";".join(components)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        package = self.dependencies["cofferdam"].package_folder
        if not os.path.isfile(os.path.join(package, "licenses", "LICENSE")):
            raise ConanException("the package contains no licence")
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "test_package"), env="conanrun")
