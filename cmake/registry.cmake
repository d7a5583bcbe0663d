# hc_registry(FLOOR PREFIX TYPE ROOT PATTERN...)
#
# Writes the list of what the files below ROOT export that match PATTERN. A new file needs no line
# anywhere: the file sub/name.c exports PREFIX_sub_name (a backend.c or a command.c: PREFIX_sub; a
# file in commands: PREFIX_name), of type TYPE. The floor's code includes PREFIX_list.h, which
# declares them and defines HC_LIST as their addresses and a closing NULL (so that a list may be
# empty). Tests, and what cases share (cases/fixture), are left out.
function(hc_registry floor prefix type root)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/${root}/)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${root} ${ARGN})
  list(FILTER files EXCLUDE REGEX "_test\\.c$|^fixture/")
  list(TRANSFORM files REPLACE "^commands/(.+)\\.c$" "\\1/command.c")
  list(SORT files)
  set(declared "")
  set(listed "")
  foreach(file ${files})
    string(REGEX REPLACE "\\.c$" "" symbol ${file})
    string(REGEX REPLACE "/(backend|command)$" "" symbol ${symbol})
    string(REGEX REPLACE "[/-]" "_" symbol ${symbol})
    string(APPEND declared "extern ${type} ${prefix}_${symbol};\n")
    string(APPEND listed "&${prefix}_${symbol}, \\\n    ")
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/registry/${floor})
  file(CONFIGURE OUTPUT ${folder}/${prefix}_list.h CONTENT
       "/* Generated from the names of the files. */\n${declared}\n#define HC_LIST \\\n    ${listed}NULL\n" @ONLY)
  target_include_directories(hc_${floor} PRIVATE ${folder})
endfunction()
