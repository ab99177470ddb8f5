# NOTICES for installations: the tree's file, the versions that are linked in as
# far as headers tell them, and licence texts where Debian's packages have them.

# The numbers that `header` defines under the names that follow, with dots.
function(runnel_header_version result header)
    set(numbers)
    find_file(RUNNEL_NOTICE_HEADER ${header} NO_CACHE)
    foreach(name IN LISTS ARGN)
        set(lines)
        if(RUNNEL_NOTICE_HEADER)
            file(STRINGS ${RUNNEL_NOTICE_HEADER} lines LIMIT_COUNT 1
                 REGEX "^#[ \t]*define[ \t]+${name}[ \t]+\"?[0-9]")
        endif()
        string(REGEX REPLACE ".*${name}[ \t]+\"?([0-9.]+).*" "\\1" number "${lines}")
        list(APPEND numbers "${number}")
    endforeach()
    list(JOIN numbers "." version)
    if(NOT version MATCHES "^[0-9.]*[0-9]$")
        set(version "version unknown")
    endif()
    set(${result} "${version}" PARENT_SCOPE)
endfunction()

# The package for Python has the kernel compiler in it, and so its notices.
function(runnel_python_notice file folder)
    if(TARGET runnel_python)
        install(FILES ${file} DESTINATION runnel/_lib/share/doc/runnel/${folder}
                COMPONENT python EXCLUDE_FROM_ALL ${ARGN})
    endif()
endfunction()

set(notices "${PROJECT_BINARY_DIR}/NOTICES")
file(READ ${PROJECT_SOURCE_DIR}/NOTICES notices_text)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/NOTICES)

runnel_header_version(xxhash_version xxhash.h
    XXH_VERSION_MAJOR XXH_VERSION_MINOR XXH_VERSION_RELEASE)
string(APPEND notices_text "\nThis build\n\n  xxHash ${xxhash_version}\n")
set(notices_packages libxxhash-dev)

if(TARGET runnel-cc)
    execute_process(COMMAND ${LLVM19_CONFIG} --version
        OUTPUT_VARIABLE llvm_version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    runnel_header_version(zlib_version zlib.h ZLIB_VERSION)
    runnel_header_version(zstd_version zstd.h
        ZSTD_VERSION_MAJOR ZSTD_VERSION_MINOR ZSTD_VERSION_RELEASE)
    runnel_header_version(glibc_version features.h __GLIBC__ __GLIBC_MINOR__)
    string(APPEND notices_text
        "  clang, LLVM and lld ${llvm_version}\n"
        "  zlib ${zlib_version}\n"
        "  Zstandard ${zstd_version}\n"
        "  libstdc++ and libgcc of ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\n"
        "  GNU C Library ${glibc_version}\n")
    string(REGEX MATCH "^[0-9]+" gcc_major "${CMAKE_C_COMPILER_VERSION}")
    list(APPEND notices_packages libclang-19-dev llvm-19-dev liblld-19-dev zlib1g-dev
        libzstd-dev libstdc++-${gcc_major}-dev libgcc-${gcc_major}-dev libc6-dev)
else()
    string(APPEND notices_text "  runnel-cc was not built\n")
endif()

foreach(package IN LISTS notices_packages)
    set(text /usr/share/doc/${package}/copyright)
    if(EXISTS ${text})
        file(REAL_PATH ${text} text)
        install(FILES ${text} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses
                RENAME ${package} COMPONENT tools)
        runnel_python_notice(${text} licenses RENAME ${package})
        string(APPEND notices_text "  licence text: licenses/${package}\n")
    endif()
endforeach()
file(WRITE ${notices} "${notices_text}")
install(FILES ${notices} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
runnel_python_notice(${notices} .)
