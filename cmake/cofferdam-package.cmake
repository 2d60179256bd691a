# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# What `cpack` makes: one Debian package `cofferdam` of everything that `cmake --install` installs. With
# COFFERDAM_INSTALL_COMPILED=ON this includes libcofferdam.a, and with COFFERDAM_BUILD_EXAMPLES=ON the programs.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cofferdam)
set(CPACK_PACKAGE_VENDOR "the cofferdam authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "C++20 coroutine toolkit that runs commands and code written by language models")
set(CPACK_PACKAGE_DESCRIPTION
    "Runs commands and Python code that a language model wrote in a kernel jail, in Docker or in E2B, behind one interface
for coroutines of standalone Asio. Contains the headers, the CMake and pkg-config files, the static library of the
compiled mode and the programs, as far as they were built.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)  # programs only: CMake does not strip static libraries
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the cofferdam authors")
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Headers and library must be used with the release of Boost that this build has found, because its types differ between
# releases. Debian has the release in the package's name.
set(boost "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}")
set(depends "libasio-dev (>= 1:1.22.1)" "libboost${boost}-dev")
if(NOT COFFERDAM_CORE_ONLY)
  list(APPEND depends "libboost-json${boost}-dev" "libboost-url${boost}-dev" "libssl-dev (>= 3.0)")
endif()
list(JOIN depends ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bubblewrap, python3, pkgconf")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++ (>= 4:12), cmake (>= 3.25)")
# The libraries that the programs need are found by dpkg-shlibdeps, of Debian's package dpkg-dev, and file.
find_program(COFFERDAM_SHLIBDEPS dpkg-shlibdeps)
find_program(COFFERDAM_FILE file)
mark_as_advanced(COFFERDAM_SHLIBDEPS COFFERDAM_FILE)
if(COFFERDAM_SHLIBDEPS AND COFFERDAM_FILE)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
if(NOT COFFERDAM_INSTALL_COMPILED AND NOT COFFERDAM_BUILD_EXAMPLES)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()

# Debian's place for the licence.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

include(CPack)
