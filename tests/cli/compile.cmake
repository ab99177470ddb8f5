# `runnel compile`, and binaries where there is no compiler.

set(folder ${CMAKE_CURRENT_BINARY_DIR})
set(no_compiler RUNNEL_CC=/absent/runnel-cc RUNNEL_CACHE_DISABLE=1)

# cli_then(<name> <name of the case that it needs>)
function(cli_then name needed)
    set_tests_properties(cli.${needed} PROPERTIES FIXTURES_SETUP cli.${needed})
    set_tests_properties(cli.${name} PROPERTIES FIXTURES_REQUIRED cli.${needed})
endfunction()

# --- Good ---------------------------------------------------------------------

cli_case(NAME compile
    EXPECT --out "axpy.rnl  [0-9.]+ KiB in " --out "^  axpy +tier F: --tier=F was asked for$"
    ARGS compile kernels/axpy.cu -o ${folder}/axpy.rnl --tier F)
cli_case(NAME run_binary
    EXPECT --out "^    2.5 4.5 6.5 8.5 " --out "^  Grid +4 x 1 x 1$"
    ARGS run ${folder}/axpy.rnl -f axpy -g 4 -b 256 ${good_axpy}
    ENVIRONMENT ${no_compiler})
cli_then(run_binary compile)
cli_case(NAME compile_json
    EXPECT --json "file=kernels/turn.cu" --json "output=${folder}/turn.rnl"
        --json "target=native" --json "kernels 0 name=turn" --json "kernels 0 tier=F"
        --json "kernels 3 name=spin" --json "kernels 3 reason=it is compiled for debugging"
    ARGS compile kernels/turn.cu -o ${folder}/turn.rnl -G --json)
cli_case(NAME run_debug_binary
    EXPECT --out "^    7 6 5 4 3 2 1 0$"
    ARGS run ${folder}/turn.rnl -f turn -g 1 -b 8 -s 32 -a buffer:int:8:iota
    ENVIRONMENT ${no_compiler})
cli_then(run_debug_binary compile_json)
cli_case(NAME compile_template
    EXPECT --out "^  scale<long> +tier [BF]" --out "^  scale<float> +tier [BF]"
    ARGS compile kernels/scale.cu -o ${folder}/scale.rnl -e "scale<long>"
        -e "scale<float>" -D OFFSET=2 --std c++17 --use_fast_math)
cli_case(NAME run_template_binary
    EXPECT --out "^    5 8 11 14$"
    ARGS run ${folder}/scale.rnl -f "scale<long>" -g 1 -b 4 -a buffer:long:4:=1,2,3,4
    ENVIRONMENT ${no_compiler})
cli_then(run_template_binary compile_template)
cli_case(NAME compile_standard_input
    EXPECT --stdin kernels/axpy.cu --json "file=-" --json "kernels 0 name=axpy"
    ARGS compile - -o ${folder}/stdin.rnl --json)
cli_case(NAME compile_warning
    EXPECT --err "^<stdin>:1:.*warning" --out "^  There is no kernel in it.$"
    --stdin kernels/warning.cu ARGS compile - -o ${folder}/warning.rnl)
foreach(option -fplugin=x.so -fpass-plugin=x.so -ftime-trace=x -fuse-ld=x
        -fprofile-generate=x -Wl,-rpath,x)
    string(REGEX REPLACE "[^a-z]+" "_" word "${option}")
    foreach(command "compile;-o;${folder}/refused.rnl" "run;-f;axpy;-g;4;-b;256;${good_axpy}")
        list(GET command 0 verb)
        list(SUBLIST command 1 -1 words)
        cli_case(NAME ${verb}_refuses${word}
            EXPECT --code 2 --err "a compiler option is wrong: '${option}' is no option"
            ARGS ${verb} kernels/axpy.cu ${words} -X ${option})
    endforeach()
endforeach()
cli_case(NAME compile_untrusted
    EXPECT --out "axpy" ARGS compile kernels/axpy.cu -o ${folder}/untrusted.rnl --untrusted)
cli_case(NAME compile_untrusted_shadow
    EXPECT --code 1 --err "/etc/passwd" --stdin kernels/reads.cu
    ARGS compile - -o ${folder}/untrusted.rnl --untrusted)
cli_case(NAME compile_note
    EXPECT --err "^kernels/axpy.cu: note: '--maxrregcount=32' has no meaning" --out "axpy"
    ARGS compile kernels/axpy.cu -o ${folder}/note.rnl -X --maxrregcount=32)
if(TARGET runnel-cc AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    cli_case(NAME compile_vectors
        EXPECT --json "kernels 0 tier=B" --json "kernels 0 reason="
            --json "kernels 3 tier=F" --json "target=x86-64-v3"
            --json "kernels 3 reason=it waits in a loop for what another thread does"
        ARGS compile kernels/turn.cu -o ${folder}/vectors.rnl --target x86-64-v3 --json)
    cli_case(NAME compile_avx512
        EXPECT --json "kernels 0 tier=B" --json "target=x86-64-v4"
        ARGS compile kernels/axpy.cu -o ${folder}/avx512.rnl --target x86-64-v4 --json)
    cli_case(NAME compile_other_architecture
        EXPECT --code 1 --err "^runnel compile: .*'aarch64'"
        ARGS compile kernels/axpy.cu -o ${folder}/x.rnl --target aarch64)
endif()

cli_bad(compile_depfile_unwritable "'/absent/x.d' cannot be written: No such file"
    compile kernels/axpy.cu -o ${folder}/x.rnl --depfile /absent/x.d)

# --- Dumps --------------------------------------------------------------------

cli_case(NAME compile_dump_output
    EXPECT --out "^	[.]text" --out "^  axpy +tier F"
    ARGS compile kernels/axpy.cu -o ${folder}/dump.rnl --tier F --dump-assembly -)
cli_case(NAME compile_dump_json
    EXPECT --json "kernels 0 name=axpy"
    ARGS compile kernels/axpy.cu -o ${folder}/dump.rnl --json
        --dump-assembly ${folder}/dump.s)
cli_case(NAME run_dump
    EXPECT --out "^	[.]text" --out "^    2.5 4.5 6.5 8.5 "
    ARGS run kernels/axpy.cu -f axpy -g 4 -b 256 ${good_axpy} --dump-assembly=-)
cli_bad(compile_dump_unwritable "'/absent/x.s' cannot be written: No such file"
    compile kernels/axpy.cu -o ${folder}/x.rnl --dump-assembly /absent/x.s)
cli_bad(compile_dump_nowhere "a dump needs a path"
    compile kernels/axpy.cu -o ${folder}/x.rnl --dump-ir=)
cli_bad(compile_dump_and_json "a dump and --json cannot both go"
    compile kernels/axpy.cu -o ${folder}/x.rnl --dump-ir - --json)
cli_case(NAME run_dump_machine
    EXPECT --code 1 --err "^runnel run: there is no disassembled machine code to dump: "
    ARGS run kernels/axpy.cu --list --dump-machine -)
cli_bad(run_dump_of_binary "options for the compiler come too late"
    run ${folder}/axpy.rnl --list --dump-assembly -)
cli_then(run_dump_of_binary compile)
if(TARGET runnel-simt AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    cli_case(NAME compile_dump_ir
        EXPECT --out "^; --- source.ll$" --out "^; --- finished.ll$"
            --out "^define .*void @" --out "^  axpy +tier B"
        ARGS compile kernels/axpy.cu -o ${folder}/dump.rnl --tier B --dump-ir -)
    cli_case(NAME compile_dump_ir_file
        EXPECT --code 2 --err "'/absent/x.source.ll' cannot be written"
        ARGS compile kernels/axpy.cu -o ${folder}/dump.rnl --tier B --dump-ir /absent/x)
endif()

# --- Lists --------------------------------------------------------------------

cli_case(NAME run_list_by_itself
    EXPECT --out "^axpy.int, float, const float .*, float .*$"
        --out "^  Symbol +axpy$" --out "^  Threads of a block +at most [0-9]+$"
    ARGS run kernels/axpy.cu)
cli_case(NAME run_list
    EXPECT --out "^axpy.int, float, const float .*, float .*$"
        --out "^  Symbol +axpy$" --out "^  Threads of a block +at most [0-9]+$"
    ARGS run kernels/axpy.cu --list)
cli_case(NAME run_list_tier
    EXPECT --out "^  Tier +F: --tier=F was asked for$"
    ARGS run kernels/axpy.cu --list -X --tier=F)
cli_case(NAME run_list_tier_json
    EXPECT --json "kernels 3 tier=F"
        --json "kernels 3 tier_reason=it waits in a loop for what another thread does"
    ARGS run kernels/turn.cu --list --json)
cli_case(NAME run_logs_tier
    EXPECT --err "^runnel: warning: the kernel 'spin' of kernels/turn.cu is compiled to tier F"
        --out "^  Tier +F: it waits"
    ARGS run kernels/turn.cu --list ENVIRONMENT RUNNEL_LOG=warning)
cli_case(NAME run_list_template
    EXPECT --json "kernels 0 name=scale<float>" --json "kernels 0 parameters 0 kind=pointer"
        --json "kernels 0 parameters 0 size=8"
    ARGS run kernels/scale.cu --list -f "scale<float>" --json)
cli_case(NAME run_list_binary
    EXPECT --out "^axpy.int, float, " ARGS run ${folder}/axpy.rnl -l
    ENVIRONMENT ${no_compiler})
cli_then(run_list_binary compile)
cli_case(NAME run_list_none
    EXPECT --err "warning" --out "^There is no kernel in it.$" --stdin kernels/warning.cu
    ARGS run - --list ENVIRONMENT RUNNEL_CACHE_DISABLE=1)

# --- Bad ----------------------------------------------------------------------

cli_bad(compile_no_file "kernel file is missing" compile -o x.rnl)
cli_bad(compile_two_files "'b.cu' is not expected" compile a.cu b.cu)
cli_bad(compile_no_name "standard input has no name" compile -)
cli_bad(compile_unknown_option "'--otput' is unknown" compile kernels/axpy.cu --otput x)
cli_bad(compile_absent_file "'absent.cu' cannot be read: No such file" compile absent.cu)
cli_bad(compile_onto_itself "would replace" compile kernels/axpy.cu -o kernels/axpy.cu)
cli_bad(compile_onto_itself_elsewhere "would replace"
    compile kernels/axpy.cu -o ./kernels/axpy.cu)
cli_bad(compile_empty_folder "nothing is given after -I"
    compile kernels/axpy.cu --include= -o ${folder}/x.rnl)
cli_bad(compile_binary_again "is not a text file" compile ${folder}/axpy.rnl -o ${folder}/x.rnl)
cli_then(compile_binary_again compile)
cli_bad(compile_no_folder "'/absent/x.rnl' cannot be written: No such file"
    compile kernels/axpy.cu -o /absent/x.rnl)
cli_bad(compile_wrong_tier "--tier takes auto, F, B or B-or-F, not 'C'"
    compile kernels/axpy.cu -o ${folder}/x.rnl --tier C)
cli_bad(compile_wrong_compiler_option "'--maxregcount=3' is no option"
    compile kernels/axpy.cu -o ${folder}/x.rnl -X --maxregcount=3)
cli_case(NAME compile_wrong_target
    EXPECT --code 1 --err "^runnel compile: .*pdp11"
    ARGS compile kernels/axpy.cu -o ${folder}/x.rnl --target pdp11)
cli_case(NAME compile_broken
    EXPECT --code 1 --err "^kernels/broken.cu:3:[0-9]+: error: .*undeclared_name"
    ARGS compile kernels/broken.cu -o ${folder}/x.rnl)
cli_case(NAME compile_no_compiler
    EXPECT --code 1 --err "^runnel compile: "
    ARGS compile kernels/axpy.cu -o ${folder}/x.rnl ENVIRONMENT ${no_compiler})
cli_bad(run_binary_with_options "options for the compiler come too late"
    run ${folder}/axpy.rnl -f axpy -g 1 -b 1 -D X)
cli_then(run_binary_with_options compile)
cli_bad(run_binary_wrong_function "'axpy'" run ${folder}/axpy.rnl -f axyp -g 1 -b 1)
cli_then(run_binary_wrong_function compile)
