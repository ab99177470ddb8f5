# runnel cache, on folders of its own.

set(cache_folder ${CMAKE_CURRENT_BINARY_DIR}/cache)
file(REMOVE_RECURSE ${cache_folder})
file(MAKE_DIRECTORY ${cache_folder}/empty ${cache_folder}/damaged)
file(CHMOD ${cache_folder}/empty ${cache_folder}/damaged
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(WRITE ${cache_folder}/damaged/0123456789abcdef0123456789abcdef "no entry")
set(in_empty RUNNEL_CACHE_DIR=${cache_folder}/empty)
set(in_damaged RUNNEL_CACHE_DIR=${cache_folder}/damaged)

# --- Good ---------------------------------------------------------------------

cli_case(NAME cache_list
    EXPECT --out "^  Folder  +${cache_folder}/empty$" --out "^  Entries  +0$"
        --out "^  Size  +0 B of 1 GiB$"
    ARGS cache ENVIRONMENT ${in_empty})
cli_case(NAME cache_limit EXPECT --json "size_limit=5242880" --json "count=0" --json "reason="
    ARGS cache list --json ENVIRONMENT ${in_empty} RUNNEL_CACHE_SIZE=5M)
cli_case(NAME cache_list_damaged
    EXPECT --out "^0123456789abcdef0123456789abcdef  .*8 B .*damaged$" --out "^  Damaged  +1$"
    ARGS cache ENVIRONMENT ${in_damaged})
cli_case(NAME cache_verify EXPECT --out "^  Entries  +0$" ARGS cache verify
    ENVIRONMENT ${in_empty})
cli_case(NAME cache_verify_damaged
    EXPECT --code 1 --json "entries 0 damaged=ON" --json "entries 0 size=8" --json "damaged=1"
    ARGS cache verify --json ENVIRONMENT ${in_damaged})
cli_case(NAME cache_prune EXPECT --out "^  Removed  +0, 0 B$"
    ARGS cache prune --size 0 ENVIRONMENT ${in_empty})
cli_case(NAME cache_prune_json EXPECT --json "removed=0" --json "removed_size=0"
    ARGS cache prune --json -s 1G ENVIRONMENT ${in_empty})
cli_case(NAME cache_prune_nowhere EXPECT --out "^  Not used  +neither" --out "^  Removed  +0, 0 B$"
    ARGS cache prune -s 0 ENVIRONMENT RUNNEL_CACHE_DIR= HOME= XDG_CACHE_HOME=)
cli_case(NAME cache_prune_nowhere_json EXPECT --json "path=" --json "removed=0"
        --json "reason=neither RUNNEL_CACHE_DIR nor HOME names a place"
    ARGS cache prune -s 0 --json ENVIRONMENT RUNNEL_CACHE_DIR= HOME= XDG_CACHE_HOME=)
cli_case(NAME cache_without_a_place EXPECT --out "^  Folder  +none$" --out "^  Not used  +neither"
    ARGS cache ENVIRONMENT RUNNEL_CACHE_DIR= HOME= XDG_CACHE_HOME=)
cli_case(NAME cache_switched_off EXPECT --out "^  Not used  +RUNNEL_CACHE_DISABLE is set$"
    ARGS cache ENVIRONMENT ${in_empty} RUNNEL_CACHE_DISABLE=1)

# --- Bad ----------------------------------------------------------------------

cli_bad(cache_unknown_action "'lsit' is not expected here: list, verify or prune" cache lsit)
cli_bad(cache_two_actions "'prune' is not expected here" cache list prune)
cli_bad(cache_size_of_list "--size is for prune only" cache --size 5)
foreach(size IN ITEMS x -1 5X 5KK 99999999999999999999 20000000000G)
    cli_bad(cache_size_${size} "size '${size}' is no number of bytes" cache prune --size=${size})
endforeach()
