# Puts kernel files into a program or library:
#
#   runnel_add_kernels(<target> <file.cu>...
#       [EMBED source|object...]    text to compile at run time (default), ready
#                                   objects for the cpu, or both
#       [TARGETS <processor>...]    of the objects; default x86-64-v3
#       [HEADERS <file>...]         that the kernels include, for EMBED source
#       [OPTIONS <option>...]       of the compiler, as NVRTC takes them
#       [NAMES <expression>...])    C++ expressions that name kernels:
#                                   scale<float>
#
# <target> gets a constant <target>_<file> of type rnl_embedded for each file,
# and the header <target>_kernels.h that declares them: see <runnel/embedded.h>.
#
# Objects are made by the program `runnel`: RUNNEL_EXECUTABLE, or that of this
# package or tree. Set it to one that runs on the building machine when cross
# compiling. An object is made again when a file changes that the kernels include.

# Users may have an older minimum.
cmake_policy(VERSION 3.25)

set(RUNNEL_EXECUTABLE "" CACHE FILEPATH "The program runnel, which makes objects of kernels")
mark_as_advanced(RUNNEL_EXECUTABLE)

# Of sources that are written here: "c", or "cpp" in a project without C.
function(_runnel_suffix result)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if("C" IN_LIST languages)
        set(${result} c PARENT_SCOPE)
    else()
        set(${result} cpp PARENT_SCOPE)
    endif()
endfunction()

# The program that makes objects, and what has to be built before it can run.
function(_runnel_program out_program out_needs)
    set(needs)
    if(RUNNEL_EXECUTABLE)
        set(program ${RUNNEL_EXECUTABLE})
    elseif(TARGET runnel-cli)
        set(program $<TARGET_FILE:runnel-cli>)
        set(needs runnel-cli)
        if(TARGET runnel-cc)
            list(APPEND needs runnel-cc)
        endif()
    else()
        get_property(program GLOBAL PROPERTY RUNNEL_PROGRAM)
        set(needs ${program})
        if(NOT EXISTS "${program}")
            message(FATAL_ERROR
                "runnel_add_kernels: EMBED object needs the program runnel, which is not "
                "there: set RUNNEL_BUILD_CLI=ON where Runnel is part of the project, "
                "install it with the package, or name it in RUNNEL_EXECUTABLE.")
        endif()
    endif()
    set(${out_program} ${program} PARENT_SCOPE)
    set(${out_needs} "${needs}" PARENT_SCOPE)
endfunction()

# The more an object demands, the earlier it is tried: levels go downwards. What a
# named processor demands is not known here, so that the user's order holds.
function(_runnel_order_targets targets_variable)
    set(levels)
    set(named ${${targets_variable}})
    foreach(level x86-64-v4 x86-64-v3 x86-64-v2 x86-64)
        if(level IN_LIST named)
            list(APPEND levels ${level})
            list(REMOVE_ITEM named ${level})
        endif()
    endforeach()
    if(NOT named)
        set(${targets_variable} ${levels} PARENT_SCOPE)
    endif()
endfunction()

# Refuses targets that cannot have sources of their own from here.
function(_runnel_check_target target)
    if(NOT TARGET ${target})
        message(FATAL_ERROR
            "runnel_add_kernels: there is no target '${target}': add the executable or "
            "library first")
    endif()
    get_target_property(aliased ${target} ALIASED_TARGET)
    get_target_property(type ${target} TYPE)
    get_target_property(folder ${target} BINARY_DIR)
    if(aliased)
        message(FATAL_ERROR
            "runnel_add_kernels: '${target}' is another name of '${aliased}': use that")
    elseif(type STREQUAL "INTERFACE_LIBRARY")
        message(FATAL_ERROR
            "runnel_add_kernels: '${target}' is an interface library, which is not compiled")
    elseif(NOT folder STREQUAL CMAKE_CURRENT_BINARY_DIR)
        message(FATAL_ERROR
            "runnel_add_kernels: '${target}' is not a target of this folder: call it in "
            "the CMakeLists.txt that adds the target")
    endif()
endfunction()

# A file, which may be the output of a custom command.
function(_runnel_check_file target path)
    get_source_file_property(generated ${path} GENERATED)
    if(IS_DIRECTORY ${path})
        message(FATAL_ERROR "runnel_add_kernels(${target}): ${path} is a folder")
    elseif(NOT generated AND NOT EXISTS ${path})
        message(FATAL_ERROR "runnel_add_kernels(${target}): there is no file ${path}")
    endif()
endfunction()

function(runnel_add_kernels target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EMBED;TARGETS;HEADERS;OPTIONS;NAMES")
    set(files ${arg_UNPARSED_ARGUMENTS})
    _runnel_check_target(${target})
    if(NOT files)
        message(FATAL_ERROR "runnel_add_kernels(${target}): no kernel file is given")
    endif()
    if(NOT arg_EMBED)
        set(arg_EMBED source)
    endif()
    foreach(word IN LISTS arg_EMBED)
        if(NOT word MATCHES "^(source|object)$")
            message(FATAL_ERROR
                "runnel_add_kernels(${target}): EMBED takes 'source', 'object' or both, "
                "not '${word}'")
        endif()
    endforeach()
    foreach(word IN LISTS arg_OPTIONS arg_NAMES)
        if(word MATCHES ";")
            message(FATAL_ERROR
                "runnel_add_kernels(${target}): '${word}' has a semicolon, which separates "
                "words in CMake")
        endif()
    endforeach()
    set(objects OFF)
    if("object" IN_LIST arg_EMBED)
        set(objects ON)
        _runnel_program(program needs)
        if(NOT arg_TARGETS)
            set(arg_TARGETS x86-64-v3)
        endif()
        list(REMOVE_DUPLICATES arg_TARGETS)
        _runnel_order_targets(arg_TARGETS)
    elseif(arg_TARGETS)
        message(FATAL_ERROR
            "runnel_add_kernels(${target}): TARGETS is for EMBED object; source is "
            "compiled for the processor that it runs on")
    endif()
    _runnel_suffix(suffix)

    string(MAKE_C_IDENTIFIER ${target} prefix)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/runnel_kernels/${target})
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/RunnelEmbed.cmake)
    list(GET files 0 first)
    cmake_path(ABSOLUTE_PATH first NORMALIZE)
    cmake_path(GET first PARENT_PATH base)
    set(headers)
    foreach(header IN LISTS arg_HEADERS)
        cmake_path(ABSOLUTE_PATH header NORMALIZE)
        file(RELATIVE_PATH name ${base} ${header})
        if(name MATCHES "^\\.\\.")
            message(FATAL_ERROR
                "runnel_add_kernels(${target}): the header ${header} lies outside of "
                "${base}, the folder of the first kernel file, so that no include can "
                "name it")
        endif()
        _runnel_check_file(${target} ${header})
        list(APPEND headers ${header})
    endforeach()

    foreach(file IN LISTS files)
        cmake_path(ABSOLUTE_PATH file NORMALIZE OUTPUT_VARIABLE path)
        _runnel_check_file(${target} ${path})
        cmake_path(GET path STEM LAST_ONLY stem)
        string(MAKE_C_IDENTIFIER ${prefix}_${stem} name)
        get_property(known TARGET ${target} PROPERTY RUNNEL_KERNELS)
        if(name IN_LIST known)
            message(FATAL_ERROR
                "runnel_add_kernels(${target}): two kernel files make the name ${name}; "
                "give one another file name")
        endif()
        set_property(TARGET ${target} APPEND PROPERTY RUNNEL_KERNELS ${name})
        set(source)
        if("source" IN_LIST arg_EMBED)
            set(source ${path})
        endif()
        set(made)
        if(objects)
            foreach(processor IN LISTS arg_TARGETS)
                set(object ${folder}/${name}.${processor}.rnl)
                add_custom_command(OUTPUT ${object}
                    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${program}" "-DFILE=${path}"
                        "-DOBJECT=${object}" "-DPROCESSOR=${processor}"
                        "-DOPTIONS=${arg_OPTIONS}" "-DNAMES=${arg_NAMES}"
                        "-DSOURCE=${source}" "-DHEADERS=${headers}" "-DBASE=${base}"
                        -P ${script}
                    DEPENDS ${path} ${headers} ${needs} ${script}
                    DEPFILE ${object}.d
                    COMMENT "Compiling the kernels of ${stem} for ${processor}"
                    VERBATIM)
                list(APPEND made ${object})
            endforeach()
        endif()
        set(output ${folder}/${name}.${suffix})
        add_custom_command(OUTPUT ${output}
            COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DNAME=${name}"
                "-DHEADER=${prefix}_kernels.h" "-DFILE=${path}" "-DSOURCE=${source}"
                "-DHEADERS=${headers}" "-DBASE=${base}" "-DOPTIONS=${arg_OPTIONS}"
                "-DNAMES=${arg_NAMES}" "-DOBJECTS=${made}" "-DTARGETS=${arg_TARGETS}"
                -P ${script}
            DEPENDS ${path} ${headers} ${made} ${script}
            COMMENT "Embedding the kernels of ${stem}"
            VERBATIM)
        target_sources(${target} PRIVATE ${output})
        set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()

    # All of the target's, also of earlier calls.
    get_property(names TARGET ${target} PROPERTY RUNNEL_KERNELS)
    set(lines)
    foreach(name IN LISTS names)
        string(APPEND lines "extern const rnl_embedded ${name};\n")
    endforeach()
    string(TOUPPER ${prefix}_KERNELS_H guard)
    file(CONFIGURE OUTPUT ${folder}/${prefix}_kernels.h @ONLY CONTENT
"// The kernels of @target@, by runnel_add_kernels.
#ifndef @guard@
#define @guard@

#include <runnel/embedded.h>

#ifdef __cplusplus
extern \"C\" {
#endif
@lines@#ifdef __cplusplus
}
#endif

#endif
")
    target_include_directories(${target} PRIVATE ${folder})
endfunction()
