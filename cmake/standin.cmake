# For tests: the plug-in's own code, linked with the stand-in for the CUDA runtime
# (kernels/cuda/standin) as build/<preset>/standin/standin.so, and beside it in lib stand-ins by the
# names of cuBLAS and cuDNN. In the folder driver stands one for the driver, under the real runtime.
set(here ${CMAKE_BINARY_DIR}/standin)
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.c)
list(FILTER kernels EXCLUDE REGEX "/cuda/(emulate|counted|shadow|ptx|standin/nccl)/")
list(FILTER kernels EXCLUDE REGEX "_test\\.c$|device/half\\.c$|standin/driver\\.c$")
file(GLOB emulation CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/emulate/*.c)
list(FILTER emulation EXCLUDE REGEX "_test\\.c$|/(backend|kernels)\\.c$")

add_library(standin_emulation OBJECT ${emulation})
target_include_directories(standin_emulation PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_link_libraries(standin_emulation PRIVATE hc_interface)

add_library(standin MODULE ${kernels} ${CMAKE_SOURCE_DIR}/kernels/cuda/emulate/kernels.c)
set_target_properties(standin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${here})
target_include_directories(standin PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_include_directories(standin SYSTEM PRIVATE ${CUDA_INCLUDE})
target_link_libraries(standin PRIVATE standin_emulation hc_interface m ${CMAKE_DL_LIBS})

# hc_standin_library(NAME VERSION LIST OURS): makes a library that exports the emulation's functions
# OURS_name by the symbols of the rows LIST(name, symbol, ...) of functions.def.
function(hc_standin_library name version list ours)
  file(STRINGS ${functions} rows REGEX "^${list}\\(")
  list(TRANSFORM rows REPLACE "^${list}\\(([a-z_]+), ([A-Za-z0-9_]+),.*"
       "-Wl,--defsym=\\2=${ours}_\\1")
  add_library(standin_${name} MODULE $<TARGET_OBJECTS:standin_emulation>)
  target_link_options(standin_${name} PRIVATE ${rows})
  target_link_libraries(standin_${name} PRIVATE hc_interface m)
  set_target_properties(standin_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX lib
                        SUFFIX .so.${version} LINKER_LANGUAGE C
                        LIBRARY_OUTPUT_DIRECTORY ${here}/lib)
  add_dependencies(standin standin_${name})
endfunction()

set(functions ${CMAKE_SOURCE_DIR}/kernels/cuda/library/functions.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${functions})
hc_standin_library(cublasLt 13 none none)
hc_standin_library(cublas 13 HC_BLAS hc_blas)
hc_standin_library(cudnn 9 HC_DNN hc_dnn)

add_library(standin_driver MODULE ${CMAKE_SOURCE_DIR}/kernels/cuda/standin/driver.c)
set_target_properties(standin_driver PROPERTIES OUTPUT_NAME cuda PREFIX lib SUFFIX .so.1
                      LIBRARY_OUTPUT_DIRECTORY ${here}/driver)
add_dependencies(standin standin_driver)

if(TARGET halfcheck-mpi)
  hc_if_changed(unchanged mpi-staged ${HC_ALL} .ci/mpi-staged .ci/mpirun)
  add_test(NAME mpi-staged COMMAND ${unchanged} ${CMAKE_SOURCE_DIR}/.ci/mpi-staged $<TARGET_FILE:halfcheck>
                                   ${here})
  set_tests_properties(mpi-staged PROPERTIES SKIP_RETURN_CODE 77)
endif()

# src/comm/nccl on a stand-in for NCCL: the test programs have the stand-ins, and export them to the
# plug-in nccl.so, which is not linked with any library, and to standin.so, whose own they replace:
# both then have the same streams and memory. Faults are planted in the plug-in's source by
# src/comm/nccl/mutants, which compiles it anew.
if(TARGET halfcheck-nccl)
  target_compile_definitions(objects.src.comm.device_test PRIVATE
                             HC_REAL_NCCL="$<TARGET_FILE:halfcheck-nccl>")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/standin/nccl/*.c)
  list(FILTER sources EXCLUDE REGEX "_test\\.c$")
  foreach(name blocks runtime standin)
    list(APPEND sources ${CMAKE_SOURCE_DIR}/kernels/cuda/standin/${name}.c)
  endforeach()
  add_library(standin_nccl MODULE ${NCCL_SOURCES})
  set_target_properties(standin_nccl PROPERTIES OUTPUT_NAME nccl PREFIX ""
                        LIBRARY_OUTPUT_DIRECTORY ${here})
  target_include_directories(standin_nccl SYSTEM PRIVATE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
  target_link_libraries(standin_nccl PRIVATE hc_comm_headers_only)
  target_link_options(standin_nccl PRIVATE
                      -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/comm/nccl/exports.map)
  add_library(standin_nccl_calls OBJECT ${sources})
  target_compile_options(standin_nccl_calls PRIVATE -Wno-missing-prototypes)
  target_include_directories(standin_nccl_calls PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
  target_include_directories(standin_nccl_calls SYSTEM PRIVATE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
  target_link_libraries(standin_nccl_calls PRIVATE hc_cli)
  foreach(test src.comm.nccl.nccl_test kernels.cuda.standin.nccl.mistakes_test
               src.train.parallel.on_device_test)
    target_sources(${test} PRIVATE $<TARGET_OBJECTS:standin_nccl_calls>)
    target_link_options(${test} PRIVATE
      -Wl,--dynamic-list=${CMAKE_SOURCE_DIR}/kernels/cuda/standin/nccl/exports.list)
    target_include_directories(objects.${test} SYSTEM PRIVATE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
    target_compile_definitions(objects.${test} PRIVATE HC_NCCL_PLUGIN="${here}/nccl.so"
                               HC_STANDIN="${here}")
    add_dependencies(objects.${test} standin_nccl standin)
  endforeach()
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=|--coverage")
    set(floors ${CMAKE_BINARY_DIR}/floors)
    hc_if_changed(unchanged nccl-mutants src/comm src/op src/num src/backend.h kernels
                  src/comm/nccl/nccl_test.c)
    add_test(NAME nccl-mutants COMMAND ${unchanged} ${CMAKE_SOURCE_DIR}/src/comm/nccl/mutants
             $<TARGET_FILE:src.comm.nccl.nccl_test> ${floors}/comm ${floors}/interface ${floors}/op
             ${floors}/num ${CUDA_INCLUDE} ${NCCL_INCLUDE} -- ${CMAKE_C_COMPILER})
    set_tests_properties(nccl-mutants PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
