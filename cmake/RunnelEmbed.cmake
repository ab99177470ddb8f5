# The build steps of runnel_add_kernels, as a script:
#
#   with PROGRAM   compiles FILE to OBJECT for PROCESSOR
#   with OUTPUT    writes the C source that defines NAME

if(PROGRAM)
    set(arguments)
    foreach(option IN LISTS OPTIONS)
        list(APPEND arguments -X ${option})
    endforeach()
    foreach(name IN LISTS NAMES)
        list(APPEND arguments -e ${name})
    endforeach()
    execute_process(
        COMMAND ${PROGRAM} compile ${FILE} -o ${OBJECT} --target ${PROCESSOR} ${arguments}
        OUTPUT_QUIET ERROR_VARIABLE log RESULT_VARIABLE result)
    if(log)
        message("${log}")  # warnings, too
    endif()
    if(result)
        message(FATAL_ERROR "${FILE} does not compile for ${PROCESSOR}")
    endif()
    return()
endif()

# Defines the bytes of a file and the zero behind them.
function(put_bytes name file)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND code "static const unsigned char ${name}[] = {\n${bytes}0};\n")
    set(code "${code}" PARENT_SCOPE)
endfunction()

# As a C string.
function(quote text_variable)
    string(REPLACE "\\" "\\\\" text "${${text_variable}}")
    string(REPLACE "\"" "\\\"" text "${text}")
    set(${text_variable} "\"${text}\"" PARENT_SCOPE)
endfunction()

# Defines an array of `type`, or nothing; `array` is what a struct says of it.
function(put_array name type items)
    list(LENGTH items count)
    if(count EQUAL 0)
        set(array "0, 0" PARENT_SCOPE)
        return()
    endif()
    list(JOIN items ",\n    " rows)
    string(APPEND code "static const ${type} ${name}[] = {\n    ${rows}};\n")
    set(code "${code}" PARENT_SCOPE)
    set(array "${name}, ${count}" PARENT_SCOPE)
endfunction()

function(put_strings name strings)
    set(items)
    foreach(item IN LISTS strings)
        quote(item)
        list(APPEND items "${item}")
    endforeach()
    put_array(${name} "char *const" "${items}")
    set(code "${code}" PARENT_SCOPE)
    set(array "${array}" PARENT_SCOPE)
endfunction()

set(code "// Made of ${FILE} by runnel_add_kernels.\n#include \"${HEADER}\"\n\n")
set(source 0)
if(SOURCE)
    put_bytes(text ${SOURCE})
    set(source "(const char *)text")
endif()

set(rows)
set(index 0)
foreach(header IN LISTS HEADERS)
    if(NOT SOURCE)
        break()
    endif()
    put_bytes(header_${index} ${header})
    file(RELATIVE_PATH name ${BASE} ${header})
    quote(name)
    list(APPEND rows "{${name}, (const char *)header_${index}}")
    math(EXPR index "${index} + 1")
endforeach()
put_array(headers rnl_header "${rows}")
set(headers "${array}")

set(rows)
foreach(object target IN ZIP_LISTS OBJECTS TARGETS)
    if(NOT object)
        break()
    endif()
    string(MAKE_C_IDENTIFIER object_${target} name)
    put_bytes(${name} ${object})
    list(APPEND rows "{\"${target}\", ${name}, sizeof ${name} - 1}")
endforeach()
put_array(objects rnl_embedded_object "${rows}")
set(objects "${array}")

put_strings(options "${OPTIONS}")
set(options "${array}")
put_strings(names "${NAMES}")
set(names "${array}")

cmake_path(GET FILE FILENAME file)
quote(file)
string(APPEND code "
const rnl_embedded ${NAME} = {
    sizeof(rnl_embedded), ${file}, ${source},
    ${options}, ${headers},
    ${objects}, ${names}};
")
file(WRITE ${OUTPUT} "${code}")
