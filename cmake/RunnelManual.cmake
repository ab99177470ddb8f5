# Writes a help page of the program `runnel` as a manual page, as a script:
#
#   cmake -DPROGRAM=runnel -DCOMMAND=run -DVERSION=0.1.0 -DOUTPUT=FILE -P ...
#
# A help page has the headings and the columns of a manual page already. Without
# COMMAND it is the page of the program itself.

execute_process(COMMAND ${PROGRAM} help ${COMMAND}
    OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)

# Characters that troff would take for commands.
string(REPLACE "\\" "\\e" page "${page}")
string(REPLACE "-" "\\-" page "${page}")
string(REGEX REPLACE "(\n *)([.'])" "\\1\\\\&\\2" page "${page}")

# The first section is one line in a form that apropos reads; the others keep
# their lines.
set(heading "\n([A-Z][A-Z ]*)\n")
if(NOT page MATCHES "^NAME\n +([a-z ]+) (\\\\- [^\n]*)\n(.*)")
    message(FATAL_ERROR "the help page of runnel ${COMMAND} does not begin with its name")
endif()
set(purpose "${CMAKE_MATCH_2}")
string(REGEX REPLACE "${heading}" "\n.fi\n.SH \\1\n.nf\n" rest "${CMAKE_MATCH_3}")
string(REPLACE "\n    " "\n" rest "\n${rest}")

set(name runnel)
if(COMMAND)
    string(APPEND name "-${COMMAND}")
endif()
string(TOUPPER ${name} title)
string(REPLACE "-" "\\-" name ${name})
file(WRITE ${OUTPUT} ".TH ${title} 1 \"\" \"Runnel ${VERSION}\"
.SH NAME
${name} ${purpose}
.nf${rest}.fi
")
