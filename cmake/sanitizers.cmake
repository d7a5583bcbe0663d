# What the presets with sanitizers (asan, fuzz, tsan) compile otherwise than the rest.
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=")
  return()
endif()

# To run what computes without optimization takes longer than to optimize it, but for the little that
# is run under clang. What talks to people and draws pictures computes next to nothing: not to
# optimize it at all saves two fifths of the compiler's time.
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  foreach(floor benches cli)
    target_compile_options(hc_${floor} PRIVATE -O0)
  endforeach()
  file(GLOB computing CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/statistics/*.c)
  set_source_files_properties(${computing} PROPERTIES COMPILE_OPTIONS -O1)
  foreach(floor num op unit reference kernels comm train check)
    target_compile_options(hc_${floor} PRIVATE -O2)
  endforeach()
endif()

# The targets of fuzzing read text. What computes is not watched there, nor is it looked at which way
# it takes; but answers of programs behind a pipe are text, too.
if(HC_FUZZ)
  set(plain -fno-sanitize=all)
  foreach(floor reference cases benches)
    target_compile_options(hc_${floor} PRIVATE ${plain})
  endforeach()
  get_target_property(sources hc_kernels SOURCES)
  list(FILTER sources EXCLUDE REGEX "/kernels/(pipe|plugin)/|TARGET_OBJECTS")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${plain})
endif()
