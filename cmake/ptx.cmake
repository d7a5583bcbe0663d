# PTX of the device kernels, as nvcc writes it with the flags that the plug-in is built with:
# build/<preset>/ptx/sm_<arch>/<source>.ptx. The target hc_ptx makes those of sm_80 and sm_90. Tests
# that need them have them made (.ci/built), so that where they need not run no PTX is.

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

# hc_ptx_plugin(NAME ARCH): the plug-in build/<preset>/ptx/NAME.so, whose backend cuda-ptx runs the
# PTX of the architecture on the CPU.
function(hc_ptx_plugin name arch)
  set(translator ${CMAKE_SOURCE_DIR}/kernels/cuda/ptx)
  set(folder ${CMAKE_BINARY_DIR}/ptx/sm_${arch})
  set(translated "")
  foreach(ptx ${HC_PTX_${arch}})
    get_filename_component(source ${ptx} NAME_WE)
    if(EXISTS ${CMAKE_SOURCE_DIR}/kernels/cuda/kernel/${source}.c) # not half.cu
      add_custom_command(OUTPUT ${folder}/${source}.c VERBATIM
                         DEPENDS ${ptx} ${translator}/translate.py ${translator}/table.py
                         COMMAND ${HC_PYTHON} -B ${translator}/translate.py ${ptx}
                                 ${folder}/${source}.c
                         COMMENT "Translating sm_${arch}/${source}.ptx")
      list(APPEND translated ${folder}/${source}.c)
    endif()
  endforeach()
  add_library(${name} MODULE ${translated} ${translator}/memory.c ${translator}/plugin.c)
  # To optimize them more takes longer than it saves. The compiler's warnings are for people's code.
  set_source_files_properties(${translated} PROPERTIES COMPILE_OPTIONS "-O1;-g0;-w")
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/ptx)
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
  target_link_options(${name} PRIVATE -Wl,-z,defs
                      -Wl,--version-script=${CMAKE_SOURCE_DIR}/kernels/cuda/device/exports.map)
  target_link_libraries(${name} PRIVATE hc_kernels)
endfunction()

# The sanitizers and gcov have nothing to say of it. cuda-ptx-90 is made by hand, where the PTX of
# sm_90 is another one.
find_program(HC_PYTHON python3 HINTS /usr/bin)
if(BUILD_TESTING AND TARGET halfcheck-cuda AND HC_PYTHON AND
   NOT CMAKE_C_FLAGS MATCHES "-fsanitize=|--coverage")
  hc_ptx_plugin(cuda-ptx 80)
  hc_ptx_plugin(cuda-ptx-90 90)
  set_target_properties(cuda-ptx cuda-ptx-90 PROPERTIES EXCLUDE_FROM_ALL TRUE)
  set(built ${CMAKE_SOURCE_DIR}/.ci/built ${CMAKE_BINARY_DIR})
  add_dependencies(cuda-ptx hc_ptx)
  hc_if_changed(unchanged ptx ${HC_ALL} cmake/ptx.cmake .ci/ptx)
  add_test(NAME ptx COMMAND ${unchanged} ${built} cuda-ptx ${CMAKE_SOURCE_DIR}/.ci/ptx
           ${CMAKE_BINARY_DIR})
  hc_if_changed(unchanged ptx-plant ${HC_CASES} cmake/ptx.cmake)
  add_test(NAME ptx-plant COMMAND ${unchanged} ${built} cuda-ptx ${HC_PYTHON} -B
           ${CMAKE_SOURCE_DIR}/kernels/cuda/ptx/plant.py ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(ptx ptx-plant PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()

# The translator alone needs no toolkit. Where there is one, NVIDIA's assembler takes part.
if(BUILD_TESTING AND HC_PYTHON)
  set(floors "")
  foreach(floor kernels-own interface op num)
    list(APPEND floors ${CMAKE_BINARY_DIR}/floors/${floor})
  endforeach()
  if(TARGET halfcheck-cuda)
    get_filename_component(tools ${CUDA_NVCC} DIRECTORY)
    set(assembler -- ${tools}/ptxas)
  endif()
  add_test(NAME ptx-translate COMMAND ${HC_PYTHON} -B
           ${CMAKE_SOURCE_DIR}/kernels/cuda/ptx/translate_test.py ${CMAKE_C_COMPILER} ${floors}
           ${assembler})
endif()
