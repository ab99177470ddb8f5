# Packages of an installation: `make tarball` and `make deb`, by CPack.
#
# The tarball has everything below one folder that can be moved. Debian's
# packages have one component each. RUNNEL_DEB adds the files that Debian wants
# in /usr/share/doc/PACKAGE; it needs the prefix /usr.

set(CPACK_PACKAGE_NAME runnel)
set(CPACK_PACKAGE_VENDOR "Runnel")
set(CPACK_PACKAGE_CONTACT "Runnel maintainers <maintainers@runnel.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "streams, events, graphs and kernels on CPUs and GPUs")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME runnel-${PROJECT_VERSION}-${system})
set(CPACK_COMPONENTS_ALL library development tools)
if(RUNNEL_DEB AND TARGET runnel_python)
    list(APPEND CPACK_COMPONENTS_ALL python3)
endif()

if(NOT RUNNEL_DEB)
    set(CPACK_GENERATOR TXZ)
    set(CPACK_THREADS 0)
    set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
    include(CPack)
    return()
endif()

# --- Debian ------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The package of a component. `contents` ends its description.
function(runnel_deb component package section depends contents)
    string(TOUPPER ${component} name)
    set(prefix CPACK_DEBIAN_${name})
    set(${prefix}_PACKAGE_NAME ${package} PARENT_SCOPE)
    set(${prefix}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(${prefix}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
    set(${prefix}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
    set(${prefix}_DESCRIPTION "Runnel gives programs device contexts, streams, events,
buffers, kernels that are compiled at run time, stream capture and graphs.
Kernels are in the CUDA C++ dialect and run on CPUs, NVIDIA GPUs and AMD GPUs.

This package has ${contents}." PARENT_SCOPE)
    set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
    install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/copyright
        DESTINATION ${folder} COMPONENT ${component})
    install(FILES ${PROJECT_BINARY_DIR}/changelog.Debian.gz
        DESTINATION ${folder} COMPONENT ${component})
endfunction()

# Without a time in it, so that a package can be made again.
execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/packaging/debian/changelog
    OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY)

set(same_version "= ${PROJECT_VERSION}-1")
runnel_deb(library runnel libs "" "the shared library")
runnel_deb(development runnel-dev libdevel "runnel (${same_version})"
    "the headers, the guide and the examples")
runnel_deb(tools runnel-tools devel "runnel (${same_version}), libc6 (>= 2.34)"
    "the program runnel and the compiler of\nkernels for CPUs")
if(TARGET runnel_python)
    runnel_deb(python3 python3-runnel python
        "runnel (${same_version}), python3 (>= 3.11), libc6 (>= 2.34)"
        "the package runnel for Python")
    set(CPACK_DEBIAN_PYTHON3_PACKAGE_SUGGESTS python3-numpy)
    set(CPACK_DEBIAN_PYTHON3_PACKAGE_SHLIBDEPS OFF)
endif()
# dpkg-shlibdeps knows no package that has this build's library.
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "runnel-tools (${same_version})")
if(TARGET runnel_comm)
    set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "openmpi-bin | mpich")
endif()

# The dependency of programs that are linked with the library: a version that has their
# functions, and none that has another soname.
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
set(next_soname ${PROJECT_VERSION_MAJOR}.${next_minor})
if(PROJECT_VERSION_MAJOR GREATER 0)
    math(EXPR next_soname "${PROJECT_VERSION_MAJOR} + 1")
endif()
set(control ${PROJECT_BINARY_DIR}/debian)
set(before "runnel (<< ${next_soname}~)")
set(depends "runnel (>= ${PROJECT_VERSION}), ${before}")
set(shlibs)
set(libraries)
set(sonames)
set(targets)
foreach(name IN ITEMS runnel runnel-comm)
    string(REPLACE "-" "_" library ${name})
    if(TARGET ${library})
        string(APPEND shlibs "lib${name} ${RUNNEL_SOVERSION} ${depends}\n")
        list(APPEND libraries $<TARGET_FILE:${library}>)
        list(APPEND sonames $<TARGET_SONAME_FILE_NAME:${library}>)
        list(APPEND targets ${library})
    endif()
endforeach()
file(WRITE ${control}/shlibs "${shlibs}")
add_custom_command(OUTPUT ${control}/symbols
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
        "-DLIBRARIES=${libraries}" "-DSONAMES=${sonames}"
        "-DDEPENDS=runnel #MINVER#, ${before}"
        -DOUTPUT=${control}/symbols -P ${CMAKE_CURRENT_LIST_DIR}/RunnelSymbols.cmake
    DEPENDS ${targets} ${CMAKE_CURRENT_LIST_DIR}/RunnelSymbols.cmake VERBATIM)
add_custom_target(debian_symbols ALL DEPENDS ${control}/symbols)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    "${control}/symbols;${control}/shlibs;${PROJECT_SOURCE_DIR}/packaging/debian/triggers")
install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/runnel-tools.lintian-overrides
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides COMPONENT tools RENAME runnel-tools)
include(CPack)
