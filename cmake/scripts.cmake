# Puts the gnuplot scripts of reports/, the templates of the page and the completion of shells into
# the program, so that it can be moved: scripts.inc has a row {"name.gp", "its text"} for each, the
# text as bytes.
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/reports/*.gp
     ${CMAKE_SOURCE_DIR}/reports/page.* ${CMAKE_SOURCE_DIR}/src/cli/manual/completion.*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${scripts})
set(rows "")
foreach(script ${scripts})
  get_filename_component(name ${script} NAME)
  file(READ ${script} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND rows "{\"${name}\", (const char[]){${bytes}0}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/hc_scripts.inc CONTENT "${rows}" @ONLY)
target_include_directories(hc_cli PRIVATE ${CMAKE_BINARY_DIR}/generated)

# The library of definitions, likewise, in alphabetical order.
file(GLOB definitions CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/definitions/*.op)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${definitions})
list(SORT definitions)
set(rows "")
foreach(definition ${definitions})
  get_filename_component(name ${definition} NAME_WE)
  file(READ ${definition} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND rows "{\"${name}\", (const char[]){${bytes}0}},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/hc_definitions.inc CONTENT "${rows}" @ONLY)
target_include_directories(hc_define PRIVATE ${CMAKE_BINARY_DIR}/generated)
