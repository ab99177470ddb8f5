# The build steps of runnel_add_kernels, as a script:
#
#   with PROGRAM   compiles FILE to OBJECT for PROCESSOR
#   with OUTPUT    writes the C source that defines NAME

cmake_minimum_required(VERSION 3.25)

# Text that is embedded takes along the headers that are beside it.
function(check_headers)
    file(STRINGS ${OBJECT}.d lines REGEX "^  ")
    foreach(header IN LISTS lines)
        string(REGEX REPLACE "^  | \\\\$" "" header "${header}")
        string(REGEX REPLACE "\\\\([ #])" "\\1" header "${header}")
        string(REPLACE "$$" "$" header "${header}")
        cmake_path(NORMAL_PATH header)
        cmake_path(IS_PREFIX BASE "${header}" is_below)
        if(is_below AND NOT header IN_LIST HEADERS)
            file(REMOVE ${OBJECT})
            message(FATAL_ERROR
                "${FILE} includes ${header}, which HEADERS does not name, so that the "
                "embedded source would lack it")
        endif()
    endforeach()
endfunction()

if(PROGRAM)
    set(arguments)
    foreach(option IN LISTS OPTIONS)
        list(APPEND arguments -X ${option})
    endforeach()
    foreach(name IN LISTS NAMES)
        list(APPEND arguments -e ${name})
    endforeach()
    execute_process(
        COMMAND ${PROGRAM} compile ${FILE} -o ${OBJECT} --depfile ${OBJECT}.d
            --target ${PROCESSOR} ${arguments}
        OUTPUT_QUIET ERROR_VARIABLE log RESULT_VARIABLE result)
    if(log)
        message("${log}")  # warnings, too
    endif()
    if(result)
        message(FATAL_ERROR "${FILE} does not compile for ${PROCESSOR}")
    endif()
    if(SOURCE)
        check_headers()
    endif()
    return()
endif()

# Defines the bytes of a file and the zero behind them, as a string: compilers read
# that many times faster than a list of numbers.
function(put_bytes name file)
    file(READ ${file} bytes HEX)
    string(LENGTH "${bytes}" size)
    math(EXPR whole "${size} / 16 * 16")
    string(SUBSTRING "${bytes}" ${whole} -1 rest)
    string(SUBSTRING "${bytes}" 0 ${whole} bytes)
    # Eight at a time: CMake's expressions are slow.
    string(REGEX REPLACE "(..)(..)(..)(..)(..)(..)(..)(..)"
        "\"\\\\x\\1\\\\x\\2\\\\x\\3\\\\x\\4\\\\x\\5\\\\x\\6\\\\x\\7\\\\x\\8\"\n"
        bytes "${bytes}")
    string(REGEX REPLACE "(..)" "\\\\x\\1" rest "${rest}")
    string(APPEND code "static const char ${name}[] =\n${bytes}\"${rest}\";\n")
    set(code "${code}" PARENT_SCOPE)
endfunction()

# A file of text, which ends at its first zero.
function(put_text name file)
    put_bytes(${name} ${file})
    string(FIND "${code}" "\\x00" zero)
    if(NOT zero EQUAL -1)
        message(FATAL_ERROR "${file} is not a text file: it has zero bytes")
    endif()
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
        set(array "NULL, 0" PARENT_SCOPE)
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

set(code "// Made of ${FILE} by runnel_add_kernels.
#include \"${HEADER}\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

")
set(source NULL)
if(SOURCE)
    put_text(text ${SOURCE})
    set(source text)
endif()

set(rows)
set(index 0)
foreach(header IN LISTS HEADERS)
    if(NOT SOURCE)
        break()
    endif()
    put_text(header_${index} ${header})
    file(RELATIVE_PATH name ${BASE} ${header})
    quote(name)
    list(APPEND rows "{${name}, header_${index}}")
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
