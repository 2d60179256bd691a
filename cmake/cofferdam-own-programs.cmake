# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# cofferdam_own: what our tests, examples and benchmarks are compiled with, and nobody who uses the library.

add_library(cofferdam_own INTERFACE)
target_compile_features(cofferdam_own INTERFACE cxx_std_20)
target_compile_options(cofferdam_own INTERFACE -Wall -Wextra -Wpedantic -Werror)
# Our code keeps to what Asio has not deprecated; newer releases remove the rest.
# Assertions make the standard library check indices and iterators.
target_compile_definitions(cofferdam_own INTERFACE ASIO_NO_DEPRECATED _GLIBCXX_ASSERTIONS)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 reports overlapping memcpy for "literal" + std::string, which is a false alarm (GCC 105651).
  target_compile_options(cofferdam_own INTERFACE -Wno-restrict)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio's coroutine frames come from std::aligned_alloc and go by an operator delete of their own, which frees them. Where
  # g++ inlines the one and not the other it takes them for strangers to each other.
  target_compile_options(cofferdam_own INTERFACE -Wno-mismatched-new-delete)
  # g++ collects its garbage first at 4 GB instead of 128 MB, which saves more than a tenth of its time.
  target_compile_options(cofferdam_own INTERFACE "SHELL:--param ggc-min-heapsize=4000000")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    # std::move and its kind are not calls, also without optimization, so tens of thousands of functions need no code.
    target_compile_options(cofferdam_own INTERFACE -ffold-simple-inlines)
  endif()
  # gold, where it is installed, links in half of the time of GNU ld.
  find_program(COFFERDAM_GOLD ld.gold)
  mark_as_advanced(COFFERDAM_GOLD)
  if(COFFERDAM_GOLD AND NOT COFFERDAM_SANITIZE AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    target_link_options(cofferdam_own INTERFACE -fuse-ld=gold)
  endif()
endif()

if(COFFERDAM_SANITIZE)
  target_compile_options(cofferdam_own INTERFACE -fsanitize=${COFFERDAM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(cofferdam_own INTERFACE -fsanitize=${COFFERDAM_SANITIZE})
  if(COFFERDAM_SANITIZE MATCHES "undefined")
    target_compile_options(cofferdam_own INTERFACE -fno-sanitize-recover=all)
    target_link_options(cofferdam_own INTERFACE -fno-sanitize-recover=all)
  endif()
  if(COFFERDAM_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ says that it does not follow fences; Asio before 1.38.2 has two of them.
    target_compile_options(cofferdam_own INTERFACE -Wno-tsan)
  endif()
endif()

# ccache when it is there. The settings let it store files that use a precompiled header, and serve one clone with what
# another has compiled.
find_program(COFFERDAM_CCACHE ccache)
mark_as_advanced(COFFERDAM_CCACHE)
if(COFFERDAM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
                                  ${COFFERDAM_CCACHE})
endif()
set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
