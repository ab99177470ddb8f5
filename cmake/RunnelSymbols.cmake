# Writes Debian's list of a library's functions, each with the release that brought
# it, which its symbol version names. A script:
# cmake -DNM=... -DLIBRARY=... -DSONAME=... -DDEPENDS=... -DOUTPUT=... -P ...

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY}
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
file(WRITE ${OUTPUT} "${SONAME} ${DEPENDS}\n${lines}\n")
