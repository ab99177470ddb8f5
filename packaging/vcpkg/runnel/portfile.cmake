# An overlay port: the source is the tree that this file lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
    FEATURES compiler RUNNEL_BUILD_COMPILER compiler RUNNEL_BUILD_CLI)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${features}
        -DRUNNEL_BUILD_EXAMPLES=OFF -DRUNNEL_BUILD_TESTS=OFF
        -DRUNNEL_BUILD_BENCH=OFF -DRUNNEL_BUILD_PYTHON=OFF -DRUNNEL_BUILD_COMM=ON
        # Where vcpkg has programs.
        -DCMAKE_INSTALL_BINDIR=tools/runnel
        -DRUNNEL_XXHASH_FOLDER=${CURRENT_INSTALLED_DIR}/include)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Runnel CONFIG_PATH lib/cmake/Runnel)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/debug/tools" "${CURRENT_PACKAGES_DIR}/debug/libexec")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICES")
