# PTX of the device kernels, as nvcc writes it with the flags that the plug-in is built with:
# build/<preset>/ptx/sm_<arch>/<source>.ptx. The target hc_ptx makes those of sm_80 and sm_90. It is
# made only for what depends on it.

# hc_ptx(ARCH FILES): adds the commands that make the PTX of an architecture, such as 80. FILES is
# the variable that gets the list of the files.
function(hc_ptx arch files)
  set(folder ${CMAKE_BINARY_DIR}/ptx/sm_${arch})
  file(MAKE_DIRECTORY ${folder})
  set(made "")
  foreach(source ${device_kernels})
    get_filename_component(name ${source} NAME_WE)
    set(ptx ${folder}/${name}.ptx)
    add_custom_command(OUTPUT ${ptx} DEPENDS ${source} DEPFILE ${ptx}.d VERBATIM
                       COMMAND ${CUDA_NVCC} ${HC_NVCC_FLAGS} -arch=sm_${arch} -ptx
                               -MD -MF ${ptx}.d -MT ptx/sm_${arch}/${name}.ptx ${source} -o ${ptx}
                       COMMENT "Building PTX sm_${arch}/${name}.ptx")
    list(APPEND made ${ptx})
  endforeach()
  set(${files} ${made} PARENT_SCOPE)
endfunction()

if(TARGET halfcheck-cuda)
  hc_ptx(80 HC_PTX_80)
  hc_ptx(90 HC_PTX_90)
  add_custom_target(hc_ptx DEPENDS ${HC_PTX_80} ${HC_PTX_90})
endif()
