# The public headers: backend.h, case.h, what these include, op/defined.h, which names the ops that
# definitions say, and memory.h, which spares most backends six functions. From their texts come
# - build/<preset>/include/halfcheck/, which is installed: the same headers, which include each other
#   as "halfcheck/..." and declare C functions to C++;
# - hc_case_abi.h: a number that changes with the headers. A plug-in with cases has it in it, and is
#   refused by a program that was built with others;
# - exports.rsp: options by which the program exports exactly what the headers declare, so that a
#   plug-in can call it.
set(queue backend.h case.h op/defined.h memory.h)
set(public "")
set(sources "")
while(queue)
  list(POP_FRONT queue header)
  if(header IN_LIST public OR header STREQUAL hc_case_abi.h)
    continue()
  endif()
  set(source src/${header})
  if(header STREQUAL memory.h)
    set(source kernels/memory.h)
  endif()
  list(APPEND public ${header})
  list(APPEND sources ${source})
  file(STRINGS ${source} lines REGEX "^#include \"")
  list(TRANSFORM lines REPLACE "^#include \"(.*)\".*" "\\1")
  list(APPEND queue ${lines})
endwhile()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})

# A function's comment may say what it likes: it is not part of the number.
set(comment "/\\*([^*]|\\*+[^*/])*\\*+/")
set(code "")
set(declarations "")
set(folder ${CMAKE_BINARY_DIR}/include)
file(GLOB_RECURSE stale RELATIVE ${folder}/halfcheck ${folder}/halfcheck/*)
list(REMOVE_ITEM stale hc_case_abi.h ${public})
foreach(header ${stale})
  file(REMOVE ${folder}/halfcheck/${header})
endforeach()
foreach(header source IN ZIP_LISTS public sources)
  file(READ ${source} text)
  string(REGEX REPLACE "${comment}" "" bare "${text}")
  string(APPEND code "${bare}\n")
  if(header MATCHES "\\.h$")
    string(APPEND declarations "\n${bare}\n")
  endif()
  string(REGEX REPLACE "\n#include \"" "\n#include \"halfcheck/" text "${text}")
  # C++ is told behind the last header that is included, and before the last #endif.
  string(REGEX MATCH "^.*\n#include [\"<][^\n]*\\.h[\">]\n" top "${text}")
  if(NOT top)
    string(REGEX MATCH "^.*\n#define HC_[A-Z0-9_]*_H\n" top "${text}")
  endif()
  if(top AND header MATCHES "\\.h$")
    string(LENGTH "${top}" from)
    string(FIND "${text}" "\n#endif" to REVERSE)
    math(EXPR length "${to} - ${from}")
    string(SUBSTRING "${text}" ${from} ${length} body)
    set(text "${top}\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n${body}\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
  endif()
  file(CONFIGURE OUTPUT ${folder}/halfcheck/${header} CONTENT "${text}" @ONLY)
endforeach()

string(MD5 number "${code}")
string(SUBSTRING ${number} 0 8 number)
set(abi ${CMAKE_BINARY_DIR}/generated/case/hc_case_abi.h)
file(CONFIGURE OUTPUT ${abi} CONTENT "/* Generated: changes with the public headers. */
#ifndef HC_CASE_ABI_H
#define HC_CASE_ABI_H

#define HC_CASE_ABI 0x${number}u

#endif
")
file(COPY ${abi} DESTINATION ${folder}/halfcheck)
target_include_directories(hc_cases PUBLIC ${CMAKE_BINARY_DIR}/generated/case)

# What is declared: without bodies, types and static functions, each statement ends with its names.
set(code "${declarations}")
string(REGEX REPLACE "\n[ \t]*#([^\n]*\\\\\n)*[^\n]*" "" code "${code}")
string(REPLACE "extern \"C\" {" "" code "${code}")
string(REGEX REPLACE "[ \t\n]+" " " code "${code}")
string(REGEX REPLACE "__attribute__\\(\\(format\\([^)]*\\)\\)\\)" "" code "${code}")
set(before "")
while(NOT code STREQUAL before)
  set(before "${code}")
  string(REGEX REPLACE "{[^{}]*}" ";" code "${code}")
endwhile()
string(REPLACE "}" "" code "${code}") # of extern "C"
set(options "")
foreach(statement ${code})
  string(STRIP "${statement}" statement)
  if(statement MATCHES "^$|^typedef |^static |^HC_INLINE |^(struct|enum|union)( [a-z0-9_]+)?$")
    continue()
  endif()
  set(before "")
  while(NOT statement STREQUAL before)
    set(before "${statement}")
    string(REGEX REPLACE "\\([^()]*\\)|\\[[^][]*\\]" "" statement "${statement}")
  endwhile()
  string(REGEX MATCHALL "hc_[a-z0-9_]+ *(,|$)" names "${statement}")
  foreach(name ${names})
    string(REGEX REPLACE "[ ,]" "" name "${name}")
    string(APPEND options "-Wl,-u,${name},--export-dynamic-symbol=${name}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/exports.rsp CONTENT "${options}")
