# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Runs the portfile of a vcpkg port without vcpkg:
#
#   cmake -DPORT_DIR=… -DFEATURES=a;b -DOUTPUT=… [-DVCPKG_CMAKE_CONFIGURE_OPTIONS=…] -P run_port.cmake
#
# The functions below do what vcpkg documents of its functions of the same names, as far as the portfile uses them: they
# configure and build for release with CMake, install into OUTPUT/packages, and move the files to vcpkg's places. They do
# not do its checks after the build.

cmake_minimum_required(VERSION 3.25)
cmake_path(GET PORT_DIR FILENAME PORT)
set(CURRENT_PACKAGES_DIR "${OUTPUT}/packages")
set(CURRENT_BUILDTREES_DIR "${OUTPUT}/buildtrees")
set(TARGET_TRIPLET test-linux)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature variable)
    if(feature IN_LIST FEATURES)
      list(APPEND options "-D${variable}=ON")
    else()
      list(APPEND options "-D${variable}=OFF")
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure does not know ${arg_UNPARSED_ARGUMENTS}")
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/rel -DCMAKE_BUILD_TYPE=Release
            -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR:STRING=lib -DBUILD_SHARED_LIBS=OFF
            ${arg_OPTIONS} ${VCPKG_CMAKE_CONFIGURE_OPTIONS}
    COMMAND_ERROR_IS_FATAL ANY ERROR_VARIABLE messages ECHO_ERROR_VARIABLE)
  foreach(option IN LISTS arg_OPTIONS)
    string(REGEX REPLACE "^-D([^:=]*).*" "\\1" variable "${option}")
    if(messages MATCHES "not used by the project:.*${variable}")
      message(FATAL_ERROR "the project does not use ${variable}")
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/rel --target install)
endfunction()

# The files move from lib/cmake/NAME to share/NAME, one folder nearer to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  if(NOT files)
    message(FATAL_ERROR "no files in ${arg_CONFIG_PATH}")
  endif()
  foreach(file IN LISTS files)
    cmake_path(GET file FILENAME name)
    file(READ ${file} text)
    string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../" text "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\n"
           "set(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\")\n" text "${text}")
    file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/${name}" "${text}")
  endforeach()
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake")
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REGEX REPLACE "(^|\n)prefix=[^\n]*" "\\1prefix=\${pcfiledir}/../.." text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
  foreach(tool IN LISTS arg_TOOL_NAMES)
    file(COPY "${CURRENT_PACKAGES_DIR}/bin/${tool}" DESTINATION "${CURRENT_PACKAGES_DIR}/tools/${PORT}")
    file(REMOVE "${CURRENT_PACKAGES_DIR}/bin/${tool}")
  endforeach()
  file(GLOB others "${CURRENT_PACKAGES_DIR}/bin/*")
  if(NOT others)
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/bin")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  configure_file("${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${PORT_DIR}/portfile.cmake")
