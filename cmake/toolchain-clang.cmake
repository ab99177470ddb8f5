# The sanitizer presets prefer clang 19, whose reports and MemorySanitizer are
# the best at hand; without it they use the default compiler.
if(NOT DEFINED CMAKE_C_COMPILER AND NOT DEFINED ENV{CC})
    find_program(RUNNEL_CLANG NAMES clang-19)
    find_program(RUNNEL_CLANGXX NAMES clang++-19)
    if(RUNNEL_CLANG AND RUNNEL_CLANGXX)
        set(CMAKE_C_COMPILER ${RUNNEL_CLANG})
        set(CMAKE_CXX_COMPILER ${RUNNEL_CLANGXX})
    endif()
endif()
