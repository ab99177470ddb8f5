# What a configure run found, printed once at its end: one line for each part,
# and one for each thing that is left out, with the reason.
#
#   runnel_report(<what> <result>)    from any folder
#   runnel_print_summary()            once, at the end

set_property(GLOBAL PROPERTY RUNNEL_SUMMARY "")

function(runnel_report what result)
    string(SUBSTRING "${what}                    " 0 20 what)
    set_property(GLOBAL APPEND PROPERTY RUNNEL_SUMMARY "${what} ${result}")
endfunction()

function(runnel_print_summary)
    get_property(lines GLOBAL PROPERTY RUNNEL_SUMMARY)
    message(STATUS "Runnel ${PROJECT_VERSION}, ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, "
                   "${CMAKE_BUILD_TYPE} ${RUNNEL_SANITIZE}")
    foreach(line IN LISTS lines)
        message(STATUS "  ${line}")
    endforeach()
endfunction()
