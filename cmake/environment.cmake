# Writes the headers that src/check/record/environment.c stamps on records with: hc_build.h at
# configuration, hc_commit.h at each build.
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
get_directory_property(options COMPILE_OPTIONS)
list(FILTER options EXCLUDE REGEX "^-(W|ffile|fmacro)")
list(JOIN options " " HC_FLAGS)
string(STRIP "-std=c11 ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} ${HC_FLAGS}" HC_FLAGS)
string(REGEX REPLACE " +" " " HC_FLAGS "${HC_FLAGS}")
set(folder ${CMAKE_BINARY_DIR}/generated)
configure_file(cmake/build.h.in ${folder}/hc_build.h @ONLY)
add_custom_target(hc_commit BYPRODUCTS ${folder}/hc_commit.h
                  COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR}
                          -D OUTPUT=${folder}/hc_commit.h -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake
                  COMMENT "" VERBATIM)
add_dependencies(hc_check hc_commit)
target_include_directories(hc_check PRIVATE ${folder})
