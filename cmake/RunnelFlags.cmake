# Compiler flags of everything below the top folder.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()

# Zero is the default of every field, so fields are left out on purpose.
add_compile_options(
    -Wall -Wextra -Wshadow -Wvla -Wno-missing-field-initializers
    "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
    "$<$<BOOL:${RUNNEL_WERROR}>:-Werror>")

if(RUNNEL_SANITIZE)
    # Frame pointers for the stacks in a report; the first finding ends the run.
    set(sanitize_flags -fsanitize=${RUNNEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    if(RUNNEL_SANITIZE MATCHES "memory")
        list(APPEND sanitize_flags -fsanitize-memory-track-origins)
    endif()
    add_compile_options(${sanitize_flags})
    add_link_options(${sanitize_flags})
endif()

# What libFuzzer follows: only the targets of tests/fuzz link it.
if(RUNNEL_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "RUNNEL_FUZZ needs clang, which has libFuzzer (Debian: "
            "clang-19 libclang-rt-19-dev); this is ${CMAKE_C_COMPILER_ID}")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# For tests too: locks are larger.
if(RUNNEL_CHECKS)
    add_compile_definitions(RUNNEL_CHECKS)
endif()

if(RUNNEL_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()
