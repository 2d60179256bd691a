# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# An overlay port of this source tree: vcpkg install cofferdam --overlay-ports=<this tree>/packaging/vcpkg

cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")
if(NOT EXISTS "${SOURCE_PATH}/include/cofferdam/version.hpp")
  message(FATAL_ERROR "cofferdam: the port must stay in packaging/vcpkg of cofferdam's source tree; ${SOURCE_PATH} is none")
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options FEATURES compiled COFFERDAM_INSTALL_COMPILED)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers are the same in both
endif()
# The package has no program or shared library with a search path, so vcpkg need not download patchelf.
set(VCPKG_FIXUP_ELF_RPATH OFF)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DCOFFERDAM_BUILD_TESTS=OFF
    -DCOFFERDAM_BUILD_EXAMPLES=OFF
    -DCOFFERDAM_BUILD_BENCHMARKS=OFF
    -DCOFFERDAM_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cofferdam)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES cofferdam-lint AUTO_CLEAN)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/share/licenses")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
