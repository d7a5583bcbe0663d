# The audit of the PTX of the device kernels (kernels/cuda/audit). The test has sm_80 and sm_90, and
# .ci/portable what its folder holds. The target hc_audit has seven architectures, and makes
# limits.txt anew. The sanitizers and gcov have nothing to say of it.
find_program(HC_PYTHON python3 HINTS /usr/bin)
if(NOT BUILD_TESTING OR NOT TARGET hc_ptx OR NOT HC_PYTHON OR
   CMAKE_C_FLAGS MATCHES "-fsanitize=|--coverage")
  return()
endif()

set(audit ${CMAKE_SOURCE_DIR}/kernels/cuda/audit)
hc_if_changed(unchanged ptx-audit -processor kernels src/num src/op src/backend.h cmake/ptx.cmake cmake/cuda.cmake)
add_test(NAME ptx-audit
         COMMAND ${unchanged} ${built} hc_ptx ${audit}/test ${CMAKE_BINARY_DIR}/ptx ${CUDA_NVCC} ${HC_NVCC_FLAGS})
set_tests_properties(ptx-audit PROPERTIES SKIP_RETURN_CODE 77)

# cuda-half is not built for sm_75, which has no bf16.
set(every_kernel ${device_kernels})
list(FILTER device_kernels EXCLUDE REGEX "half\\.cu$")
hc_ptx(75 made)
set(device_kernels ${every_kernel})
set(folders "")
foreach(arch 86 89 100 120)
  if(known MATCHES "compute_${arch}[\r\n]")
    hc_ptx(${arch} more)
    list(APPEND made ${more})
    list(APPEND folders ${CMAKE_BINARY_DIR}/ptx/sm_${arch})
  endif()
endforeach()
foreach(arch 75 80 90)
  list(APPEND folders ${CMAKE_BINARY_DIR}/ptx/sm_${arch})
endforeach()
get_filename_component(tools ${CUDA_NVCC} DIRECTORY)
add_custom_target(hc_audit DEPENDS ${made} ${HC_PTX_80} ${HC_PTX_90} VERBATIM
                  COMMAND ${HC_PYTHON} ${audit}/audit.py ${folders} --ptxas ${tools}/ptxas --write)
