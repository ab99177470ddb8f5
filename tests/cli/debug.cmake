# A debugger stops inside a kernel, at a line of the user's, in the thread that
# it is asked for, and sees that one's variables.

find_program(RUNNEL_TEST_GDB gdb)
mark_as_advanced(RUNNEL_TEST_GDB)
set(gdb_runs "")
if(RUNNEL_TEST_GDB AND NOT RUNNEL_SANITIZE)
    # Where processes may not be traced it is of no use.
    execute_process(
        COMMAND ${RUNNEL_TEST_GDB} -nx -batch -ex run --args ${CMAKE_COMMAND} -E true
        OUTPUT_VARIABLE gdb_runs ERROR_QUIET TIMEOUT 60)
endif()
if(NOT gdb_runs MATCHES "exited normally")
    return()
endif()

add_test(NAME cli.run_under_gdb
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/case.sh
        --out "hit Breakpoint .*axpy .size=64, a=2.5, .* at kernels/axpy.cu:6"
        --out "^6.*y.i. = a . x.i. . y.i.;"
        --out "= 37$" --out "= 92.5$" --out "exited normally"
        -- sh -c "exec \"$@\" 2>&1" sh
        ${RUNNEL_TEST_GDB} -nx -q -batch
        -ex "set debuginfod enabled off" -ex "set breakpoint pending on"
        -ex "break axpy.cu:6 if i == 37" -ex run
        -ex "print i" -ex "print a * x[i]" -ex delete -ex continue
        --args $<TARGET_FILE:runnel-cli> run kernels/axpy.cu -X -G -f axpy -g 1 -b 64
        -a int:64 -a float:2.5 -a buffer:float:64:iota -a buffer:float:64
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_tests_properties(cli.run_under_gdb PROPERTIES
    TIMEOUT ${cli_timeout}
    LABELS "${cli_labels}"
    ENVIRONMENT "${RUNNEL_TEST_ENVIRONMENT};RUNNEL_DEVICES=cpu")
math(EXPR cli_count "${cli_count} + 1")
