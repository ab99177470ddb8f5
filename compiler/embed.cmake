# Writes the prelude as a C array: cmake -DOUTPUT=x.c -P embed.cmake
# The parts are joined in order; standard headers are replaced by base.h, and
# comments left out, which every compilation would read.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(text "")

# Appends the variable `one`.
macro(add)
    string(HEX "${one}" hex)
    string(APPEND text ${hex})
endmacro()
macro(add_file path)
    file(READ ${here}/${path} one)
    string(REGEX REPLACE "#include <[a-z/_]+.h>\n" "" one "${one}")
    string(REGEX REPLACE "\n( *//[^\n]*\n)+" "\n" one "\n${one}")
    add()
endmacro()

# The core once, and each optional part once it is asked for: headers include
# this text again to ask for more. See source/prelude_sections.c. Functions of the prelude round as
# they are written, also where the user lets the compiler regroup sums.
string(CONCAT one "#pragma GCC system_header\n"
       "#pragma clang force_cuda_host_device begin\n"
       "#ifndef RNL_HAS_CORE\n#define RNL_HAS_CORE\n")
add()
foreach(part prelude/base.h ../include/runnel/cpu_object.h prelude/dialect.h
             prelude/threads.h prelude/common.h prelude/table.h)
    add_file(${part})
endforeach()
foreach(part vector math warp atomic scoped rounding special simd heap
             alignment space limits constants pi cmath traits runtime host
             narrow half bfloat cluster groups)
    string(TOUPPER ${part} name)
    string(CONCAT one "#endif\n"
           "#if defined(RNL_NEEDS_${name}) && !defined(RNL_HAS_${name})\n"
           "#define RNL_HAS_${name}\n"
           "#pragma float_control(push)\n"
           "#pragma clang fp reassociate(off)\n")
    if(NOT core_size)
        string(LENGTH "${text}" core_size)
        math(EXPR core_size "${core_size} / 2")
    endif()
    add()
    if(part STREQUAL math)
        add_file(prelude/lanes.h)
        add_file(prelude/floats.h)
    endif()
    add_file(prelude/${part}.h)
    set(one "#pragma float_control(pop)\n")
    add()
endforeach()
set(one "#endif\n#pragma clang force_cuda_host_device end\n")
add()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${text}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT}.new "#include \"source/source.h\"

const char cc_prelude[] = {\n${bytes}0};
const size_t cc_prelude_size = sizeof cc_prelude - 1;
const size_t cc_prelude_core_size = ${core_size};
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
