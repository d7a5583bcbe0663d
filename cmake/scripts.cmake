# hc_embed(FILE.inc FILE...): a row {"NAME", "its text"} for each file, the text as bytes, so that the
# program can be moved.
function(hc_embed inc)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  set(rows "")
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "[.]op$" "" name ${name})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND rows "{\"${name}\", (const char[]){${bytes}0}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${inc} CONTENT "${rows}" @ONLY)
endfunction()

# The gnuplot scripts of reports/, the templates of the page and the completion of shells.
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/reports/*.gp
     ${CMAKE_SOURCE_DIR}/reports/page.* ${CMAKE_SOURCE_DIR}/src/cli/manual/completion.*)
hc_embed(hc_scripts.inc ${scripts})
target_include_directories(hc_cli PRIVATE ${CMAKE_BINARY_DIR}/generated)

# The library of definitions, in alphabetical order.
file(GLOB definitions CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/definitions/*.op)
list(SORT definitions)
hc_embed(hc_definitions.inc ${definitions})
target_include_directories(hc_define PRIVATE ${CMAKE_BINARY_DIR}/generated)
