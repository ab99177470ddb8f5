# What `cmake --install` puts where, and how other projects find it: by
# find_package(Runnel), which gives Runnel::runnel, or by pkg-config.

include(CMakePackageConfigHelpers)

# The way from one installed folder to another, behind the word for the former. A
# folder with an absolute name stays where it is, so that the way to it is its name.
function(runnel_relative from to word result)
    if(IS_ABSOLUTE ${from} OR IS_ABSOLUTE ${to})
        cmake_path(ABSOLUTE_PATH to BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} NORMALIZE)
        string(REGEX REPLACE "(.)/$" "\\1" to "${to}")
    else()
        file(RELATIVE_PATH to /${from} /${to})
        string(REGEX REPLACE "/$" "" to "${word}/${to}")
    endif()
    set(${result} "${to}" PARENT_SCOPE)
endfunction()

# The components are the packages of RunnelPackage.cmake: library, development and
# tools.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/runnel
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
# The C interface as data, for generators of bindings.
install(FILES ${PROJECT_SOURCE_DIR}/include/abi.json
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/runnel COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT library)
# The guide and the examples, with links among them as in the tree.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development
        PATTERN decisions EXCLUDE PATTERN CMakeLists.txt EXCLUDE)
include(RunnelNotices)

if(TARGET runnel)
    install(TARGETS runnel EXPORT RunnelTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
            NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
    if(TARGET runnel_comm)
        install(TARGETS runnel_comm EXPORT RunnelTargets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                NAMELINK_COMPONENT development)
    endif()
    set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Runnel)
    install(EXPORT RunnelTargets NAMESPACE Runnel:: DESTINATION ${config_dir}
        COMPONENT development)
    configure_package_config_file(
        ${CMAKE_CURRENT_LIST_DIR}/RunnelConfig.cmake.in ${PROJECT_BINARY_DIR}/RunnelConfig.cmake
        INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBEXECDIR
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(
        ${PROJECT_BINARY_DIR}/RunnelConfigVersion.cmake COMPATIBILITY ${RUNNEL_COMPATIBILITY})
    install(FILES ${PROJECT_BINARY_DIR}/RunnelConfig.cmake ${PROJECT_BINARY_DIR}/RunnelConfigVersion.cmake
            ${CMAKE_CURRENT_LIST_DIR}/RunnelKernels.cmake ${CMAKE_CURRENT_LIST_DIR}/RunnelEmbed.cmake
            DESTINATION ${config_dir} COMPONENT development)

    # Relative to where the file lies, so that the tree can be moved.
    runnel_relative(${CMAKE_INSTALL_LIBDIR}/pkgconfig . "\${pcfiledir}" pc_prefix)
    foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
        set(pc_${folder} ${CMAKE_INSTALL_${folder}})
        if(NOT IS_ABSOLUTE ${pc_${folder}})
            string(PREPEND pc_${folder} "\${prefix}/")
        endif()
    endforeach()
    configure_file(${CMAKE_CURRENT_LIST_DIR}/runnel.pc.in ${PROJECT_BINARY_DIR}/runnel.pc @ONLY)
    if(TARGET runnel_comm)
        configure_file(${CMAKE_CURRENT_LIST_DIR}/runnel-comm.pc.in
            ${PROJECT_BINARY_DIR}/runnel-comm.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/runnel-comm.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
    endif()
    install(FILES ${PROJECT_BINARY_DIR}/runnel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
            COMPONENT development)
endif()

# librunnel finds its compiler here, relative to itself.
if(TARGET runnel-cc)
    install(TARGETS runnel-cc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/runnel
            COMPONENT tools)
endif()
if(TARGET runnel-hip-cc)
    install(TARGETS runnel-hip-cc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/runnel
            COMPONENT tools)
endif()
if(TARGET runnel-cli)
    runnel_relative(${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR} "$ORIGIN" rpath)
    set_target_properties(runnel-cli PROPERTIES INSTALL_RPATH "${rpath}")
    install(TARGETS runnel-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
            COMPONENT tools)
endif()
# Manual pages are what the program says of itself, which another processor's cannot
# do here.
if(TARGET runnel-cli AND NOT CMAKE_CROSSCOMPILING AND NOT RUNNEL_SANITIZE)
    set(pages)
    foreach(command IN ITEMS "" -info -check -compile -run -cache)
        set(page ${PROJECT_BINARY_DIR}/manual/runnel${command}.1)
        string(REPLACE "-" "" word "${command}")
        add_custom_command(OUTPUT ${page}
            COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:runnel-cli> -DCOMMAND=${word}
                -DVERSION=${PROJECT_VERSION} -DOUTPUT=${page}
                -P ${CMAKE_CURRENT_LIST_DIR}/RunnelManual.cmake
            DEPENDS runnel-cli ${CMAKE_CURRENT_LIST_DIR}/RunnelManual.cmake VERBATIM)
        if(RUNNEL_DEB)  # Debian wants them so
            add_custom_command(OUTPUT ${page}.gz COMMAND gzip -9nkf ${page}
                DEPENDS ${page} VERBATIM)
            string(APPEND page .gz)
        endif()
        list(APPEND pages ${page})
    endforeach()
    add_custom_target(manual ALL DEPENDS ${pages})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
endif()

if(PROJECT_IS_TOP_LEVEL)
    include(RunnelPackage)
endif()
