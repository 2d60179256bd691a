# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Writes and installs the pkg-config files: cofferdam-core.pc, cofferdam.pc and, with the compiled mode,
# cofferdam-compiled.pc. They find their own folders from the place of the file, so an installed tree can be moved.
# Boost and Asio have no pkg-config files. Their flags are therefore in ours, with the folders that CMake found, unless
# the compiler searches these folders anyway.

file(RELATIVE_PATH cofferdam_pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" cofferdam_pc_to_prefix "${cofferdam_pc_to_prefix}")

set(cofferdam_pc_core_cflags "")
foreach(folder IN ITEMS "${COFFERDAM_ASIO_INCLUDE_DIR}" ${Boost_INCLUDE_DIRS})
  if(folder AND NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND cofferdam_pc_core_cflags " -I${folder}")
  endif()
endforeach()
# Asio before 1.26 does not detect that clang has coroutines. g++ accepts the definition as well.
if(cofferdam_asio_VERSION AND cofferdam_asio_VERSION VERSION_LESS 1.26)
  string(APPEND cofferdam_pc_core_cflags " -DASIO_HAS_CO_AWAIT=1")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|IntelLLVM")  # version.hpp says why
  string(APPEND cofferdam_pc_core_cflags " -DASIO_DISABLE_AWAITABLE_FRAME_RECYCLING=1")
endif()

set(cofferdam_pc_boost_libs "")
if(NOT COFFERDAM_CORE_ONLY)
  foreach(library IN ITEMS json url)
    set(file "")
    foreach(property IN ITEMS IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE)
      if(NOT file)
        get_target_property(file Boost::${library} ${property})
      endif()
    endforeach()
    if(file)
      cmake_path(GET file PARENT_PATH folder)
      if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES AND NOT cofferdam_pc_boost_libs MATCHES "-L${folder}( |$)")
        string(APPEND cofferdam_pc_boost_libs " -L${folder}")
      endif()
    endif()
    string(APPEND cofferdam_pc_boost_libs " -lboost_${library}")
  endforeach()
  string(STRIP "${cofferdam_pc_boost_libs}" cofferdam_pc_boost_libs)
endif()

set(cofferdam_pc_compiled_from cofferdam)
if(COFFERDAM_CORE_ONLY)
  set(cofferdam_pc_compiled_from cofferdam-core)
endif()
set(cofferdam_pc_compiled_cflags -DCOFFERDAM_SEPARATE_COMPILATION)
foreach(definition IN LISTS cofferdam_compiled_definitions)
  string(APPEND cofferdam_pc_compiled_cflags " -D${definition}")
endforeach()

set(names cofferdam-core)
if(NOT COFFERDAM_CORE_ONLY)
  list(APPEND names cofferdam)
endif()
if(COFFERDAM_INSTALL_COMPILED)
  list(APPEND names cofferdam-compiled)
endif()
foreach(name IN LISTS names)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
