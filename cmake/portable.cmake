# The folder build/portable, for machines where nothing can be installed: `cmake --preset portable`, then
# `cmake --build --preset portable`. It is made anew each time.
set(folder ${CMAKE_SOURCE_DIR}/build/portable)
set(copies COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
           COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/licences)

# hc_carry(TO FILE...): copies that the target `portable` makes.
function(hc_carry to)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/ REGEX "^[^/$]")
  set(copies ${copies} COMMAND ${CMAKE_COMMAND} -E copy ${ARGN} ${folder}/${to} PARENT_SCOPE)
endfunction()

set(programs $<TARGET_FILE:halfcheck>)
if(TARGET halfcheck-cuda)
  list(APPEND programs $<TARGET_FILE:halfcheck-cuda>)
endif()
hc_carry(. ${programs} portable/gpu-check benches/pytorch/darknet16.py LICENSE)

# What is linked in has conditions of its own (MPFR and GMP: LGPL); Debian keeps them here.
foreach(package libmpfr-dev libgmp-dev libjansson-dev gcc-12-base)
  if(EXISTS /usr/share/doc/${package}/copyright)
    hc_carry(licences/${package} /usr/share/doc/${package}/copyright)
  endif()
endforeach()

add_custom_target(portable ${copies}
                  COMMAND ${CMAKE_STRIP} --strip-debug ${folder}/halfcheck
                  COMMENT "Making build/portable" VERBATIM)
add_dependencies(portable halfcheck)
