# The program itself, help, info, and the bad command lines of check.

# --- Good ---------------------------------------------------------------------

cli_case(NAME version EXPECT --out "^runnel ${PROJECT_VERSION}$" ARGS --version)
foreach(page IN ITEMS main info check compile run cache help)
    set(command ${page})
    if(page STREQUAL main)
        set(command)
    endif()
    foreach(section IN ITEMS NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES ENVIRONMENT "EXIT STATUS")
        list(APPEND sections --out "^${section}$")
    endforeach()
    cli_case(NAME help_${page} EXPECT --narrow ${sections} ARGS help ${command})
    cli_case(NAME help_option_${page} EXPECT --narrow ${sections} ARGS ${command} --help)
    unset(sections)
endforeach()

cli_case(NAME info
    EXPECT --out "^Device cpu:0$" --out "^  Name  +[^ ]" --out "^  Memory  +[0-9]"
        --out "^  Threads of a block  +at most [1-9]"
        --out "^  RUNNEL_DEVICES  +cpu$"
    ARGS info)
cli_case(NAME info_list EXPECT --out "^cpu:0  .*multiprocessor" ARGS info -l)
cli_case(NAME info_features
    EXPECT --out "^  Features  .*compile" --out "native functions +yes"
    ARGS info --features)
cli_case(NAME info_json
    EXPECT --json "devices 0 device=cpu:0" --json "devices 0 api=cpu"
        --json "environment RUNNEL_DEVICES=cpu" --json "version=${PROJECT_VERSION}"
    ARGS info --json)
cli_case(NAME info_json_features
    EXPECT --json "devices 0 features 1 name=native functions" ARGS info --json -f)
cli_case(NAME info_virtual_devices EXPECT --out "^cpu:2 "
    ARGS info -l ENVIRONMENT RUNNEL_CPU_DEVICES=3)
cli_case(NAME info_compiler_absent
    EXPECT --out "^Compiler of cpu$" --out "runnel-cc was not found where RUNNEL_CC says"
        --out "^  Cache  +[^ ]" --out "^    size  +[0-9.]+ "
    ARGS info ENVIRONMENT RUNNEL_CC=/absent/runnel-cc)
cli_case(NAME info_compiler_absent_json
    EXPECT --json "compiler path=" --json "compiler tier=" --json "compiler cache reason="
    ARGS info --json ENVIRONMENT RUNNEL_CC=/absent/runnel-cc)
cli_case(NAME info_compiler_silent
    EXPECT --out "the kernel compiler /bin/true does not tell its version$"
    ARGS info ENVIRONMENT RUNNEL_CC=/bin/true)
cli_case(NAME info_unknown_variable EXPECT --out "RUNNEL_THREAD +3  \\(Runnel has no such"
    ARGS info ENVIRONMENT RUNNEL_THREAD=3)
cli_case(NAME info_without_colour EXPECT --out "^Device cpu:0$"
    ARGS info ENVIRONMENT TERM=xterm)
if(Python3_EXECUTABLE)
    cli_case(NAME info_json_python EXPECT --python ${Python3_EXECUTABLE}
        ARGS info --json -f)
    cli_case(NAME info_json_escapes EXPECT --python ${Python3_EXECUTABLE}
        ARGS info --json ENVIRONMENT "RUNNEL_ODD=\"\\\\\n")
endif()

# --- Bad ----------------------------------------------------------------------

if(EXISTS /dev/full)
    foreach(command IN ITEMS help info)
        cli_case(NAME ${command}_to_full_disk
            EXPECT --full --code 1 --err "standard output could not be written"
            ARGS ${command})
    endforeach()
endif()

cli_bad(no_command "a command is missing")
cli_bad(unknown_command "'inof' is not a command" inof)
cli_bad(unknown_program_option "'--jsno' is not a command" --jsno)
cli_bad(help_unknown_command "'inof' is not a command" help inof)
cli_bad(help_two_commands "'run' is not expected" help info run)

cli_bad(info_unknown_option "'--jsno' is unknown" info --jsno)
cli_bad(info_unknown_letter "'-x' is unknown" info -x)
cli_bad(info_letter_in_group "'-x' is unknown" info -lx)
cli_bad(info_value_for_flag "takes no value" info --json=yes)
cli_bad(info_operand "'cpu:0' is not expected" info cpu:0)

cli_bad(check_unknown_option "'--jsno' is unknown" check --jsno)
cli_bad(check_operand "'cpu' is not expected" check cpu)
cli_bad(check_missing_value "'--device' needs a value" check --device)
cli_bad(check_missing_letter_value "'-d' needs a value" check -d)
cli_bad(check_bad_device "device 'cpu:x' is not of the form" check -d cpu:x)
cli_bad(check_empty_device "device '' is not of the form" check --device=)
cli_bad(check_absent_device "." check -d cpu:99)
cli_bad(check_unknown_api "." check -d tpu:0)

cli_case(NAME check_without_device
    EXPECT --code 1 --err "no device is present" --out "^FAIL$"
    ARGS check ENVIRONMENT RUNNEL_DEVICES=cuda:77)
