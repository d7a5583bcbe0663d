# For tests: the plug-in's own code, linked with the stand-in for the CUDA runtime
# (kernels/cuda/standin) as build/<preset>/standin/standin.so, and beside it in lib stand-ins by the
# names of cuBLAS and cuDNN. In the folder driver stands one for the driver, under the real runtime.
set(here ${CMAKE_BINARY_DIR}/standin)
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.c)
list(FILTER kernels EXCLUDE REGEX "/cuda/(emulate|counted|shadow|ptx)/")
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
