# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# cofferdam_find_dependencies(part missing) finds what one part of the library needs. The build and the installed
# package read this same file. On return `missing` is empty, or one sentence that says what to install.
# A macro, because the targets that find_package makes must outlive the call.

set(cofferdam_cmake_files "${CMAKE_CURRENT_LIST_DIR}")

macro(cofferdam_find_dependencies cofferdam_part cofferdam_missing_out)
  set(${cofferdam_missing_out} "")
  if("${cofferdam_part}" STREQUAL "core")
    find_package(Threads QUIET)
    if(NOT Threads_FOUND)
      set(${cofferdam_missing_out} "cofferdam: no thread library found")
    endif()
    include("${cofferdam_cmake_files}/cofferdam-asio.cmake")
    if(NOT cofferdam_asio_FOUND)
      set(${cofferdam_missing_out}
          "cofferdam: Asio (standalone, 1.22.1 or newer) not found; install it (Debian, Ubuntu: libasio-dev) or set COFFERDAM_ASIO_INCLUDE_DIR to the folder of asio.hpp")
    elseif(cofferdam_asio_VERSION AND cofferdam_asio_VERSION VERSION_LESS 1.22.1)
      set(${cofferdam_missing_out} "cofferdam: Asio ${cofferdam_asio_VERSION} is too old, 1.22.1 is the oldest")
    endif()
    find_package(Boost 1.81 CONFIG QUIET)
    if(NOT TARGET Boost::headers)
      set(${cofferdam_missing_out}
          "cofferdam: the headers of Boost 1.81 or newer not found; install them (Debian 12: libboost1.81-dev, Ubuntu 24.04: libboost1.83-dev)")
    endif()
  elseif("${cofferdam_part}" STREQUAL "cofferdam")
    find_package(Boost 1.81 CONFIG QUIET COMPONENTS json url)
    if(NOT TARGET Boost::json OR NOT TARGET Boost::url)
      set(${cofferdam_missing_out}
          "cofferdam: Boost.JSON and Boost.URL, 1.81 or newer, not found; install them (Debian 12: libboost-json1.81-dev libboost-url1.81-dev, Ubuntu 24.04: the same with 1.83), or ask for cofferdam::core alone")
    endif()
    find_package(OpenSSL 3 QUIET)
    if(NOT OpenSSL_FOUND)
      set(${cofferdam_missing_out}
          "cofferdam: OpenSSL 3 not found; install it (Debian, Ubuntu: libssl-dev), or ask for cofferdam::core alone")
    endif()
  elseif("${cofferdam_part}" STREQUAL "compiled")
    # Stands on the part that it was built from, which the configuration finds first.
  elseif("${cofferdam_part}" STREQUAL "testing")
    find_package(GTest QUIET)
    if(NOT GTest_FOUND)
      set(${cofferdam_missing_out} "cofferdam: GoogleTest not found; install it (Debian, Ubuntu: libgtest-dev)")
    endif()
  else()
    set(${cofferdam_missing_out} "cofferdam: no part is called ${cofferdam_part}; there are core, cofferdam, compiled and testing")
  endif()
endmacro()
