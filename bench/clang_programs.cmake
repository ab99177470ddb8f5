# The loops of programs/ once more, by clang and with its own OpenMP: the library
# that BENCH_CLANG_PROGRAMS names. Without clang, or where clang does not link a
# loop with OpenMP, there is none.
find_program(RUNNEL_BENCH_CLANG NAMES clang-19 clang)
find_library(RUNNEL_BENCH_LIBOMP NAMES omp libomp.so.5 PATH_SUFFIXES llvm-19/lib llvm-14/lib)
mark_as_advanced(RUNNEL_BENCH_CLANG RUNNEL_BENCH_LIBOMP)

set(clang_flags -std=c11 -O3 -march=native -fopenmp -ffp-contract=fast -fPIC -shared -Wno-pass-failed
    -I${CMAKE_CURRENT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include)
get_filename_component(libomp_folder "${RUNNEL_BENCH_LIBOMP}" DIRECTORY)
list(APPEND clang_flags -L${libomp_folder} -Wl,-rpath,${libomp_folder})

set(clang_works 1)
if(RUNNEL_BENCH_CLANG AND RUNNEL_BENCH_LIBOMP AND OpenMP_C_FOUND)
    execute_process(
        COMMAND ${RUNNEL_BENCH_CLANG} ${clang_flags}
                ${CMAKE_CURRENT_SOURCE_DIR}/programs/clang_runtime.c
                -o ${CMAKE_CURRENT_BINARY_DIR}/clang_try.so
        RESULT_VARIABLE clang_works OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT clang_works EQUAL 0)
    runnel_report("bench: clang's loops" "skipped: no clang with OpenMP")
    return()
endif()

set(clang_programs ${CMAKE_CURRENT_BINARY_DIR}/runnel-bench-clang.so)
set(clang_sources ${program_sources} ${program_texts_c}
    ${CMAKE_CURRENT_SOURCE_DIR}/programs/clang_runtime.c)
add_custom_command(
    OUTPUT ${clang_programs}
    COMMAND ${RUNNEL_BENCH_CLANG} ${clang_flags} ${clang_sources} -lm -o ${clang_programs}
    DEPENDS ${clang_sources} programs/programs.h kernel_spec.h
    COMMENT "Building the loops of runnel-bench by clang"
    VERBATIM)
add_custom_target(runnel-bench-clang DEPENDS ${clang_programs})
add_dependencies(runnel-bench runnel-bench-clang)
target_compile_definitions(runnel-bench PRIVATE BENCH_CLANG_PROGRAMS="${clang_programs}")
