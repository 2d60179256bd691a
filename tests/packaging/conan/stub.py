# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A stand-in for three packages of ConanCenter, for tests without a network: asio, boost and openssl.

The packages have the names, options, components and CMake targets of ConanCenter's, and contain nothing: their libraries
and headers are those of this machine. `conan create stub.py --name=asio --version=1.38.2`
"""
from conan import ConanFile


class StubConan(ConanFile):
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def init(self):
        # The options that our recipe reads.
        flags = ("header_only", "without_json", "without_url")
        self.options.update({flag: [True, False] for flag in flags}, {flag: False for flag in flags})

    def package_id(self):
        self.info.clear()

    def package_info(self):
        getattr(self, self.name)()

    def component(self, name, target, pkg_config, libraries=(), requires=()):
        made = self.cpp_info.components[name]
        made.includedirs, made.libdirs, made.bindirs = [], [], []
        made.set_property("cmake_target_name", target)
        made.set_property("pkg_config_name", pkg_config)
        made.system_libs = list(libraries)
        made.requires = list(requires)

    def asio(self):
        self.cpp_info.set_property("pkg_config_name", "asio")
        self.cpp_info.defines.append("ASIO_STANDALONE")
        self.cpp_info.includedirs, self.cpp_info.libdirs, self.cpp_info.bindirs = [], [], []
        self.cpp_info.system_libs.append("pthread")

    def boost(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        self.component("headers", "Boost::headers", "boost")
        self.component("json", "Boost::json", "boost_json", ["boost_json"], ["headers"])
        self.component("url", "Boost::url", "boost_url", ["boost_url"], ["headers"])

    def openssl(self):
        self.cpp_info.set_property("cmake_file_name", "OpenSSL")
        self.cpp_info.set_property("cmake_find_mode", "both")
        self.cpp_info.set_property("pkg_config_name", "openssl")
        self.component("crypto", "OpenSSL::Crypto", "libcrypto", ["crypto"])
        self.component("ssl", "OpenSSL::SSL", "libssl", ["ssl"], ["crypto"])
