# hc_if_changed(OUT NAME WHAT...): a prefix of the command of the long test NAME, with which it is
# not run where it has passed with the same files, compilers and libraries (.ci/if-changed). The
# folders are those of the floors that the test sees, or whose programs it runs. With gcov all is run.
set(HC_BUILT_WITH "=${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${HC_FLAGS}"
    "=mpfr ${MPFR_VERSION} onednn ${DNNL_VERSION} cuda ${nvcc_version}")
set(HC_KERNELS src/num src/op src/unit src/tensor_file src/comm src/backend.h src/reference.h
    src/reference_scale.h reference kernels CMakeLists.txt cmake/floors.cmake cmake/vectors.cmake
    cmake/shadow.cmake)
set(HC_TRAIN ${HC_KERNELS} src/train)
set(HC_CASES ${HC_TRAIN} src/formula src/check src/case.h cases)
set(HC_ALL ${HC_CASES} src/cli src/bench.h benches)
function(hc_if_changed out name)
  set(prefix "")
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=")
    set(prefix sanitizers.)
  endif()
  set(command ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/if-changed ${prefix}${name} ${ARGN} ${HC_BUILT_WITH} --)
  if(CMAKE_C_FLAGS MATCHES "--coverage" OR NOT HC_PYTHON)
    set(command "")
  endif()
  set(${out} ${command} PARENT_SCOPE)
endfunction()
