# hc_registry(FLOOR PREFIX TYPE PATTERN...)
#
# Writes the list of what the files matching PATTERN export, so that a new file needs no line
# anywhere: a file dir/sub/name.c exports PREFIX_sub_name (for backend.c: PREFIX_sub; for files of
# check/faults: PREFIX_name), of type TYPE. The floor's code includes PREFIX_list.h, which declares
# them and defines HC_LIST as their addresses.
function(hc_registry floor prefix type)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${ARGN})
  list(FILTER files EXCLUDE REGEX "_test\\.c$")
  list(SORT files)
  set(declared "")
  set(listed "")
  foreach(file ${files})
    string(REGEX REPLACE "^.*/([^/]+/[^/]+)\\.c$" "\\1" symbol ${file})
    string(REGEX REPLACE "/backend$" "" symbol ${symbol})
    string(REGEX REPLACE "^faults/" "" symbol ${symbol})
    string(REPLACE "/" "_" symbol ${symbol})
    string(APPEND declared "extern ${type} ${prefix}_${symbol};\n")
    string(APPEND listed " \\\n    &${prefix}_${symbol},")
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/registry/${floor})
  file(CONFIGURE OUTPUT ${folder}/${prefix}_list.h CONTENT
       "/* Generated from the names of the files. */\n${declared}\n#define HC_LIST${listed}\n" @ONLY)
  target_include_directories(hc_${floor} PRIVATE ${folder})
endfunction()
