# Adds a test program, and to CTest each of its tests on a process of its own.
#
#   runnel_test(NAME <program>
#               SOURCES <file>...       C files with RNL_TEST(...), see
#                                       tests/support/test.h
#               [LIBS <target>...]      runnel (default) or runnel_internal,
#                                       and what else is needed
#               [DEFINITIONS <def>...]
#               [ENVIRONMENT <VAR=value>...]
#               [TIMEOUT <seconds>]     of one test; default 30
#               [LABELS <label>...])    no-asan, no-tsan, no-msan: cannot run
#                                       under that sanitizer; dev-only: need
#                                       not run under any; slow: not part of
#                                       `make check`; no-ci: part of `make test`,
#                                       but not of .ci/run
#
# A test is called <program>.<test>.

# Sanitizers run several times slower.
set(RUNNEL_TIME_FACTOR 1)
if(RUNNEL_SANITIZE OR RUNNEL_COVERAGE)
    set(RUNNEL_TIME_FACTOR 4)
endif()

# Reads the names of the tests in `sources` when the build is configured, and
# again when one of them changes.
function(runnel_find_tests program out_names)
    set(names)
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
        file(STRINGS ${source} lines REGEX "^RNL_TEST\\([A-Za-z0-9_]+\\)")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^RNL_TEST\\(([A-Za-z0-9_]+)\\).*" "\\1" name "${line}")
            if(name IN_LIST names)
                message(FATAL_ERROR "${source}: ${program} has two tests called ${name}")
            endif()
            list(APPEND names ${name})
        endforeach()
    endforeach()
    set(${out_names} ${names} PARENT_SCOPE)
endfunction()

function(runnel_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LIBS;DEFINITIONS;ENVIRONMENT;LABELS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "runnel_test: unknown ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT TARGET test_support)
        return()
    endif()
    if(NOT arg_LIBS MATCHES "runnel")
        list(APPEND arg_LIBS runnel)
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 30)
    endif()
    math(EXPR timeout "${arg_TIMEOUT} * ${RUNNEL_TIME_FACTOR}")

    add_executable(test_${arg_NAME} ${arg_SOURCES})
    set_target_properties(test_${arg_NAME} PROPERTIES
        OUTPUT_NAME ${arg_NAME}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
    target_compile_definitions(test_${arg_NAME} PRIVATE
        $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=> ${arg_DEFINITIONS})
    # gcc does not know that a cmocka assertion ends the test, and warns about
    # the NULL that it excludes.
    target_compile_options(test_${arg_NAME} PRIVATE $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
    target_link_libraries(test_${arg_NAME} PRIVATE test_support ${arg_LIBS})

    runnel_find_tests(${arg_NAME} names ${arg_SOURCES})
    foreach(name IN LISTS names)
        add_test(NAME ${arg_NAME}.${name} COMMAND test_${arg_NAME} ${name})
    endforeach()
    list(TRANSFORM names PREPEND ${arg_NAME}. OUTPUT_VARIABLE tests)
    if(tests)
        set_tests_properties(${tests} PROPERTIES
            TIMEOUT ${timeout}
            SKIP_RETURN_CODE 77
            LABELS "${arg_LABELS}"
            ENVIRONMENT "${RUNNEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
    endif()
    list(LENGTH tests count)
    set_property(GLOBAL APPEND PROPERTY RUNNEL_TEST_COUNTS ${count})
endfunction()

# Labels the tests of this folder so far whose names match `pattern` as slow.
function(runnel_slow pattern)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(FILTER tests INCLUDE REGEX "${pattern}")
    if(tests)
        set_property(TEST ${tests} APPEND PROPERTY LABELS slow)
    endif()
endfunction()

# Adds tests of a program once more, with other settings:
#
#   runnel_test_again(NAME <program> AS <prefix>
#                     SOURCES <file>...        of the program
#                     ENVIRONMENT <VAR=value>...
#                     [TIMEOUT <seconds>])
#
# A test is called <program>.<prefix>.<test>.
function(runnel_test_again)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;AS;TIMEOUT" "SOURCES;ENVIRONMENT")
    if(NOT TARGET test_${arg_NAME})
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 30)
    endif()
    math(EXPR timeout "${arg_TIMEOUT} * ${RUNNEL_TIME_FACTOR}")
    runnel_find_tests(${arg_NAME} names ${arg_SOURCES})
    foreach(name IN LISTS names)
        add_test(NAME ${arg_NAME}.${arg_AS}.${name} COMMAND test_${arg_NAME} ${name})
    endforeach()
    list(TRANSFORM names PREPEND ${arg_NAME}.${arg_AS}. OUTPUT_VARIABLE tests)
    set_tests_properties(${tests} PROPERTIES
        TIMEOUT ${timeout}
        SKIP_RETURN_CODE 77
        ENVIRONMENT "${RUNNEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
    list(LENGTH tests count)
    set_property(GLOBAL APPEND PROPERTY RUNNEL_TEST_COUNTS ${count})
endfunction()
