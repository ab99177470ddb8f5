# What needs the kernel compiler: `runnel check`, and `runnel run` with real
# kernels.

set(good_axpy
    -a int:1024 -a float:2.0 -a buffer:float:1K:iota -a buffer:float:1024:=2.5)

# --- Good ---------------------------------------------------------------------

cli_case(NAME check
    EXPECT --out "^cpu:0  " --out "^  init +ok " --out "^  allocate +ok "
        --out "^  copy +ok " --out "^  compile +ok " --out "^  launch +ok "
        --out "^  verify +ok +[0-9.]+ [mun]?s$" --out "^PASS$"
    ARGS check)
cli_case(NAME check_json
    EXPECT --json "devices 0 device=cpu:0" --json "devices 0 steps 5 step=verify"
        --json "devices 0 pass=ON" --json "pass=ON"
    ARGS check --json)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    cli_case(NAME check_tier EXPECT --out "^  tier +B$" ARGS check)
    cli_case(NAME check_tier_json
        EXPECT --json "devices 0 tier=B" --json "devices 0 tier_reason=" ARGS check --json)
    cli_case(NAME info_compiler
        EXPECT --out "^  Program  +/.*runnel-cc$" --out "^  Version  +runnel-cc [0-9]+ .*clang "
            --out "^  Target  +native .[a-z]" --out "^  Tier of a small kernel  +B$"
        ARGS info)
    cli_case(NAME info_compiler_target
        EXPECT --json "compiler target=x86-64-v3" --json "compiler tier=B"
            --json "compiler problem="
        ARGS info --json ENVIRONMENT RUNNEL_CPU_TARGET=x86-64-v3)
endif()
cli_case(NAME check_device EXPECT --out "^cpu:1 " --out "^PASS$"
    ARGS check --device cpu:1 ENVIRONMENT RUNNEL_CPU_DEVICES=2)

cli_case(NAME run_axpy
    EXPECT --out "^  Argument 4 +float.1024., elements 0 to 15$"
        --out "^    2.5 4.5 6.5 8.5 " --out "^  Grid +4 x 1 x 1$"
    ARGS ${axpy} ${good_axpy})
cli_case(NAME run_print
    EXPECT --out "elements 1020 to 1023" --out "^    2042.5 2044.5 2046.5 2048.5$"
    ARGS ${axpy} ${good_axpy} --print 4=1020:1024)
cli_case(NAME run_json
    EXPECT --json "function=axpy" --json "buffers 0 argument=4"
        --json "buffers 0 values 1=2044.5" --json "grid 0=4" --json "launches=1"
    ARGS ${axpy} ${good_axpy} --print 4=1020:1024 --json)
cli_case(NAME run_not_a_number
    EXPECT --json "buffers 0 values 0=nan" --json "buffers 0 values 1=inf"
    ARGS ${axpy} -a int:2 -a float:1 -a buffer:float:2:=nan,inf -a buffer:float:2
        --print 4=0:2 --json)
cli_case(NAME run_element_sign
    EXPECT --out "^    7 6 5 4 3 2 1 0$"
    ARGS run kernels/turn.cu -f turn -g 1 -b 8 -s 32 -a buffer:uint:8:iota)
cli_case(NAME run_element_bytes
    EXPECT --out "^    0 0 0 1 1 0 0 0$"
    ARGS run kernels/turn.cu -f turn -g 1 -b 2 -s 8
        -a buffer:uchar:8:=1,0,0,0,0,0,0,1)
cli_case(NAME run_template
    EXPECT --out "^    5 8 11 14$"
    ARGS run kernels/scale.cu -f "scale<long>" -g 1 -b 4 -a buffer:long:4:=1,2,3,4
        -D OFFSET=2 --std c++17)
cli_case(NAME run_shared
    EXPECT --out "^    7 6 5 4 3 2 1 0$"
    ARGS run kernels/turn.cu -f turn -g 1 -b 8 -s 32 -a buffer:int:8:iota)
cli_case(NAME run_repeat
    EXPECT --out "^    7$" --out "median .* of 7 launches"
    ARGS run kernels/turn.cu -f count -g 1 -b 1 -n 7 -a buffer:ulong:1)
cli_case(NAME run_null
    EXPECT --out "^    1$"
    ARGS run kernels/turn.cu -f is_null -g 1 -b 1 -a null -a buffer:bool:1)
# The first sixteen characters of the file as four numbers.
cli_case(NAME run_file
    EXPECT --out "^    857756239 1413693766 543518313 1717920803$"
    ARGS run kernels/turn.cu -f turn -g 1 -b 4 -s 16
        -a buffer:int:4:file:kernels/factor.h)
cli_case(NAME run_standard_input
    EXPECT --stdin kernels/axpy.cu --out "^    2.5 4.5 "
    ARGS run - -f axpy -g 4 -b 256 ${good_axpy})

# --- Bad ----------------------------------------------------------------------

cli_case(NAME run_wrong_element
    EXPECT --code 2 --err "argument 3 of axpy is a buffer of double, but the parameter"
        --err "points to float: pass a buffer of float"
    ARGS ${axpy} -a int:1024 -a float:2.0 -a buffer:double:1K:iota -a buffer:float:1024)
cli_case(NAME run_integers_for_floats
    EXPECT --code 2 --err "argument 4 of axpy is a buffer of int32_t, but"
    ARGS ${axpy} -a int:1024 -a float:2.0 -a buffer:float:1K:iota -a buffer:int:1024)
cli_case(NAME run_does_not_compile
    EXPECT --code 1 --err "^kernels/broken.cu:3:[0-9]+: error: .*undeclared_name"
        --err "^ .*out.0. = undeclared_name" --err "^ .*\\^" --err "^runnel run: "
    ARGS run kernels/broken.cu -f broken -g 1 -b 1 -a buffer:int:1)
cli_bad(run_wrong_function "axpy" run kernels/axpy.cu -f axyp -g 1 -b 1)
cli_bad_axpy(few_arguments "." -a int:1024)
cli_bad_axpy(many_arguments "." ${good_axpy} -a int:1)
cli_bad_axpy(argument_kind "." -a float:1024 -a float:2 -a buffer:float:4 -a buffer:float:4)
cli_bad_axpy(argument_size "." -a long:4 -a float:2 -a buffer:float:4 -a buffer:float:4)
cli_bad_axpy(argument_scalar "." -a int:4 -a float:2 -a long:0 -a buffer:float:4)
cli_bad(run_large_block "." run kernels/axpy.cu -f axpy -g 1 -b 1000000 ${good_axpy})
cli_bad_axpy(data_file_absent "'absent' cannot be read: No such file"
    -a buffer:float:4:file:absent)
cli_bad_axpy(data_file_short "'kernels/factor.h' has [0-9]+ bytes where"
    -a buffer:float:4096:file:kernels/factor.h)
cli_case(NAME run_bad_compiler_option
    EXPECT --code 2 --err "^runnel run: " ARGS ${axpy} ${good_axpy} -X -fabsent-option)
cli_case(NAME run_timeout
    EXPECT --code 1 --err "^runnel run: .*time"
    ARGS run kernels/turn.cu -f spin -g 1 -b 1 -a buffer:int:1 --timeout 0.2)
cli_case(NAME run_no_memory
    EXPECT --code 1 --err "^runnel run: " ARGS ${axpy} -a buffer:double:1024G)
cli_case(NAME run_no_compiler
    EXPECT --code 1 --err "^runnel run: " ARGS ${axpy} ${good_axpy}
    ENVIRONMENT RUNNEL_CC=/absent/runnel-cc RUNNEL_CACHE_DISABLE=1)
cli_case(NAME check_no_compiler
    EXPECT --code 1 --out "^  compile +failed" --out "^  launch +skipped" --out "comes with Runnel"
        --out "^FAIL$"
    ARGS check ENVIRONMENT RUNNEL_CC=/absent/runnel-cc RUNNEL_CACHE_DISABLE=1)
cli_case(NAME check_no_compiler_json
    EXPECT --code 1 --json "pass=OFF" --json "devices 0 steps 3 status=ERROR_COMPILER_UNAVAILABLE"
    ARGS check --json ENVIRONMENT RUNNEL_CC=/absent/runnel-cc RUNNEL_CACHE_DISABLE=1)

