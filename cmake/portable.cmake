# Makes the folder build/portable, for machines where nothing can be installed: `cmake --preset
# portable`, then `cmake --build --preset portable`. An older one is removed first.
set(folder ${CMAKE_SOURCE_DIR}/build/portable)
set(copies COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
           COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/licences)

# hc_carry(TO FILE...): the target `portable` copies the files to the folder TO in build/portable.
function(hc_carry to)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/ REGEX "^[^/$]")
  set(copies ${copies} COMMAND ${CMAKE_COMMAND} -E copy ${ARGN} ${folder}/${to} PARENT_SCOPE)
endfunction()

set(programs $<TARGET_FILE:halfcheck>)
if(TARGET halfcheck-cuda)
  list(APPEND programs $<TARGET_FILE:halfcheck-cuda>)
endif()
hc_carry(. ${programs} portable/gpu-check benches/pytorch/darknet16.py LICENSE)

# The linked libraries have licences of their own (MPFR and GMP: LGPL), which Debian keeps here.
foreach(package libmpfr-dev libgmp-dev libjansson-dev gcc-12-base)
  if(EXISTS /usr/share/doc/${package}/copyright)
    hc_carry(licences/${package} /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION halfcheck/bin/licences
            RENAME ${package} COMPONENT python OPTIONAL EXCLUDE_FROM_ALL)
  endif()
endforeach()

add_custom_target(portable ${copies}
                  COMMAND ${CMAKE_STRIP} --strip-debug ${folder}/halfcheck
                  COMMENT "Making build/portable" VERBATIM)
add_dependencies(portable halfcheck)

# The Python package (pyproject.toml) takes the program, and nothing else.
install(TARGETS halfcheck RUNTIME DESTINATION halfcheck/bin COMPONENT python EXCLUDE_FROM_ALL)
