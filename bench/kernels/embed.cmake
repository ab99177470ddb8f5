# Writes text files as C strings: cmake -DOUTPUT=x.c "-DFILES=a.cu;b.cl" -P
# embed.cmake makes `a_cu` and `b_cl`.
set(code "")
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND code "extern const char ${name}[];\n"
                       "const char ${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "${code}")
