# Writes Debian's list of the libraries' functions, each with the release that
# brought it, which its symbol version names. A script:
# cmake -DNM=... -DLIBRARIES=... -DSONAMES=... -DDEPENDS=... -DOUTPUT=... -P ...

set(text)
foreach(library soname IN ZIP_LISTS LIBRARIES SONAMES)
    execute_process(COMMAND ${NM} -D --defined-only ${library}
        OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^ \n]+@@RUNNEL_[0-9.]+" symbols "${symbols}")
    set(lines)
    foreach(symbol IN LISTS symbols)
        string(REGEX MATCH "RUNNEL_([0-9.]+)$" node "${symbol}")
        set(version ${CMAKE_MATCH_1})
        if(NOT version MATCHES "\\..*\\.")
            string(APPEND version .0)
        endif()
        string(REPLACE "@@" "@" symbol "${symbol}")
        list(APPEND lines " ${symbol} ${version}" " ${node}@${node} ${version}")
    endforeach()
    list(REMOVE_DUPLICATES lines)
    list(SORT lines)
    list(JOIN lines "\n" lines)
    string(APPEND text "${soname} ${DEPENDS}\n${lines}\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
