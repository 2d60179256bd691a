# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Makes the imported target cofferdam::asio: standalone Asio, wherever it comes from. The build and the installed
# package read this same file. Not named FindAsio.cmake, which would stand in the way of a user's own; and without
# an include guard, since imported targets belong to the directory that made them.
#
# COFFERDAM_ASIO_INCLUDE_DIR, when set, is the folder that holds asio.hpp and wins over everything else.
# Sets cofferdam_asio_FOUND and, where it can be told, cofferdam_asio_VERSION.

if(NOT TARGET cofferdam::asio)
  set(cofferdam_asio_VERSION "")
  if(NOT COFFERDAM_ASIO_INCLUDE_DIR)
    find_package(asio CONFIG QUIET)  # Conan and vcpkg have one; upstream and Debian do not
  endif()
  if(TARGET asio::asio AND NOT COFFERDAM_ASIO_INCLUDE_DIR)
    add_library(cofferdam::asio INTERFACE IMPORTED)
    target_link_libraries(cofferdam::asio INTERFACE asio::asio)
    set(cofferdam_asio_VERSION "${asio_VERSION}")
  else()
    find_path(COFFERDAM_ASIO_INCLUDE_DIR asio.hpp DOC "The folder that holds asio.hpp")
    mark_as_advanced(COFFERDAM_ASIO_INCLUDE_DIR)
    if(EXISTS "${COFFERDAM_ASIO_INCLUDE_DIR}/asio/version.hpp")
      add_library(cofferdam::asio INTERFACE IMPORTED)
      target_include_directories(cofferdam::asio INTERFACE "${COFFERDAM_ASIO_INCLUDE_DIR}")
      file(STRINGS "${COFFERDAM_ASIO_INCLUDE_DIR}/asio/version.hpp" cofferdam_asio_line REGEX "^#define ASIO_VERSION ")
      string(REGEX REPLACE "^#define ASIO_VERSION ([0-9]+).*" "\\1" cofferdam_asio_number "${cofferdam_asio_line}")
      math(EXPR cofferdam_asio_major "${cofferdam_asio_number} / 100000")
      math(EXPR cofferdam_asio_minor "${cofferdam_asio_number} / 100 % 1000")
      math(EXPR cofferdam_asio_patch "${cofferdam_asio_number} % 100")
      set(cofferdam_asio_VERSION "${cofferdam_asio_major}.${cofferdam_asio_minor}.${cofferdam_asio_patch}")
    endif()
  endif()

  if(TARGET cofferdam::asio)
    # A file compiled without it would see another Asio and break the one-definition rule.
    set_property(TARGET cofferdam::asio APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS ASIO_STANDALONE)
    # version.hpp says why.
    set_property(TARGET cofferdam::asio APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
                 "$<$<CXX_COMPILER_ID:Clang,AppleClang,IntelLLVM>:ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING=1>")
    # Asio before 1.26 does not notice that clang has coroutines.
    if(cofferdam_asio_VERSION AND cofferdam_asio_VERSION VERSION_LESS 1.26)
      set_property(TARGET cofferdam::asio APPEND PROPERTY
                   INTERFACE_COMPILE_DEFINITIONS "$<$<CXX_COMPILER_ID:Clang,AppleClang>:ASIO_HAS_CO_AWAIT=1>")
    endif()
  endif()
endif()

if(TARGET cofferdam::asio)
  set(cofferdam_asio_FOUND TRUE)
else()
  set(cofferdam_asio_FOUND FALSE)
endif()
