# Writes the prelude as a C array: cmake -DOUTPUT=x.c -P embed.cmake
# The parts are joined in order; standard headers are replaced by base.h.
set(here ${CMAKE_CURRENT_LIST_DIR})
set(text "")
foreach(part prelude/base.h ../include/runnel/cpu_object.h prelude/dialect.h
             prelude/threads.h prelude/math.h prelude/table.h)
    file(READ ${here}/${part} one)
    string(REGEX REPLACE "#include <[a-z/_]+.h>\n" "" one "${one}")
    string(HEX "${one}" one)
    string(APPEND text ${one})
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${text}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT}.new "#include \"cc.h\"

const char cc_prelude[] = {\n${bytes}0};
const size_t cc_prelude_size = sizeof cc_prelude - 1;
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
