# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Conan 2 recipe: `conan create . -s compiler.cppstd=20`

CMake consumers get the project's own CMake configuration: find_package(cofferdam), with the targets cofferdam::core,
cofferdam::cofferdam and cofferdam::compiled. The components below have the same names, for all other generators.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.4"

OLDEST_COMPILERS = {"gcc": "12", "clang": "16"}


class CofferdamConan(ConanFile):
    name = "cofferdam"
    description = "C++20 coroutine toolkit that runs commands and code written by language models"
    license = "BSL-1.0"
    topics = ("coroutines", "asio", "sandbox", "llm", "agents", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "compiled": [True, False],  # also build the static library of the compiled mode, and use it
        "core_only": [True, False],  # only cofferdam::core, which needs neither OpenSSL nor compiled Boost libraries
    }
    default_options = {"compiled": False, "core_only": False}
    exports_sources = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "packaging/cofferdam_lint.py")
    no_copy_source = True
    test_package_folder = "packaging/conan/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "cofferdam", "version.hpp"))
        self.version = re.search(r'string_view version = "([^"]+)"', header)[1]

    def configure(self):
        if self.options.compiled:
            self.package_type = "static-library"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("asio/[>=1.22.1 <2]", transitive_headers=True, transitive_libs=True)
        self.requires("boost/[>=1.81 <2]", transitive_headers=True, transitive_libs=True)
        if not self.options.core_only:
            self.requires("openssl/[>=3 <4]", transitive_headers=True, transitive_libs=True)

    def package_id(self):
        if not self.info.options.compiled:
            # Headers are the same for every compiler. core_only stays, because it changes which files are installed.
            self.info.settings.clear()
            self.info.requires.clear()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"cofferdam runs on Linux, not on {self.settings.os}")
        if self.settings.get_safe("compiler.cppstd"):
            try:
                check_min_cppstd(self, 20)
            except ConanInvalidConfiguration as error:
                raise ConanInvalidConfiguration(f"cofferdam needs C++20: add -s compiler.cppstd=20 ({error})") from error
        compiler = str(self.settings.compiler)
        if compiler not in OLDEST_COMPILERS:
            raise ConanInvalidConfiguration(f"cofferdam needs gcc or clang, not {compiler}")
        if Version(self.settings.compiler.version) < OLDEST_COMPILERS[compiler]:
            raise ConanInvalidConfiguration(
                f"cofferdam needs {compiler} {OLDEST_COMPILERS[compiler]} or newer, not {self.settings.compiler.version}")
        for requirement, dependency in self.dependencies.host.items():
            if requirement.ref.name == "boost" and not self.options.core_only:
                for unwanted in ("header_only", "without_json", "without_url"):
                    if dependency.options.get_safe(unwanted, False):
                        raise ConanInvalidConfiguration(
                            f"cofferdam needs Boost.JSON and Boost.URL: remove boost/*:{unwanted}=True, or set "
                            "cofferdam/*:core_only=True")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"COFFERDAM_BUILD_{part}"] = False
        toolchain.cache_variables["COFFERDAM_INSTALL"] = True
        # Conan writes pkg-config files of its own, with the places of the packages.
        toolchain.cache_variables["COFFERDAM_INSTALL_PKGCONFIG"] = False
        toolchain.cache_variables["COFFERDAM_INSTALL_COMPILED"] = bool(self.options.compiled)
        toolchain.cache_variables["COFFERDAM_CORE_ONLY"] = bool(self.options.core_only)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.compiled:
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")

        core = self.cpp_info.components["core"]
        core.set_property("pkg_config_name", "cofferdam-core")
        core.builddirs = [os.path.join("lib", "cmake", "cofferdam")]
        core.bindirs, core.libdirs = [], []
        core.defines = ["ASIO_STANDALONE"]
        # Asio before 1.26 does not detect that clang has coroutines. g++ accepts the definition as well.
        for requirement, _ in self.dependencies.host.items():
            if requirement.ref.name == "asio" and Version(str(requirement.ref.version)) < "1.26":
                core.defines.append("ASIO_HAS_CO_AWAIT=1")
        core.system_libs = ["pthread"]
        core.requires = ["asio::asio", "boost::headers"]
        last = "core"

        if not self.options.core_only:
            whole = self.cpp_info.components["cofferdam"]
            whole.set_property("pkg_config_name", "cofferdam")
            whole.bindirs, whole.libdirs = [], []
            whole.requires = ["core", "boost::json", "boost::url", "openssl::ssl", "openssl::crypto"]
            last = "cofferdam"

        if self.options.compiled:
            compiled = self.cpp_info.components["compiled"]
            compiled.set_property("pkg_config_name", "cofferdam-compiled")
            compiled.bindirs = []
            compiled.libs = ["cofferdam"]
            compiled.defines = ["COFFERDAM_SEPARATE_COMPILATION"]
            compiled.requires = [last]
