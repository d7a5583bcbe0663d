# For tests: the code of kernels/cuda/device on a CUDA runtime that is the emulation (kernels/cuda/
# standin), and a cuBLAS and a cuDNN by their own names, in build/<preset>/standin and below its lib.
set(here ${CMAKE_BINARY_DIR}/standin)
file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.c)
list(FILTER kernels EXCLUDE REGEX "/cuda/emulate/")
list(FILTER kernels EXCLUDE REGEX "_test\\.c$|device/half\\.c$")
file(GLOB emulation CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/emulate/*.c)
list(FILTER emulation EXCLUDE REGEX "_test\\.c$|/(backend|graph|launch)\\.c$")

add_library(standin_emulation OBJECT ${emulation})
target_include_directories(standin_emulation PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_link_libraries(standin_emulation PRIVATE hc_interface)

add_library(standin MODULE ${kernels})
set_target_properties(standin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${here})
target_include_directories(standin PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_include_directories(standin SYSTEM PRIVATE ${CUDA_INCLUDE})
target_link_libraries(standin PRIVATE standin_emulation hc_interface m ${CMAKE_DL_LIBS})

# hc_standin_library(NAME VERSION THEIRS=OURS...): a library that exports functions of the emulation by
# the names that the true one gives them.
function(hc_standin_library name version)
  add_library(standin_${name} MODULE $<TARGET_OBJECTS:standin_emulation>)
  list(TRANSFORM ARGN PREPEND "-Wl,--defsym=")
  target_link_options(standin_${name} PRIVATE ${ARGN})
  target_link_libraries(standin_${name} PRIVATE hc_interface m)
  set_target_properties(standin_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX lib
                        SUFFIX .so.${version} LINKER_LANGUAGE C
                        LIBRARY_OUTPUT_DIRECTORY ${here}/lib)
  add_dependencies(standin standin_${name})
endfunction()

hc_standin_library(cublasLt 13)
hc_standin_library(cublas 13 cublasCreate_v2=hc_blas_create cublasDestroy_v2=hc_blas_destroy
                   cublasSetStream_v2=hc_blas_set_stream
                   cublasSetWorkspace_v2=hc_blas_set_workspace
                   cublasSetMathMode=hc_blas_set_math_mode cublasGemmEx=hc_blas_gemm_ex
                   cublasGetStatusString=hc_blas_text cublasGetProperty=hc_blas_property)
hc_standin_library(cudnn 9 cudnnCreate=hc_dnn_create cudnnDestroy=hc_dnn_destroy
                   cudnnSetStream=hc_dnn_set_stream
                   cudnnBackendCreateDescriptor=hc_dnn_create_descriptor
                   cudnnBackendDestroyDescriptor=hc_dnn_destroy_descriptor
                   cudnnBackendSetAttribute=hc_dnn_set cudnnBackendGetAttribute=hc_dnn_get
                   cudnnBackendFinalize=hc_dnn_finalize cudnnBackendExecute=hc_dnn_execute
                   cudnnGetErrorString=hc_dnn_text cudnnGetVersion=hc_dnn_version)
