# The plug-in halfcheck-cuda.so, beside the program. nvcc compiles the device kernels
# (kernels/cuda/kernel), the C compiler all the rest. The CUDA runtime is linked in, and finds the
# driver when it runs: the file loads with and without one.
set(HALFCHECK_CUDA AUTO CACHE STRING
    "build the backend cuda: AUTO (where there is nvcc), ON or OFF")
set_property(CACHE HALFCHECK_CUDA PROPERTY STRINGS AUTO ON OFF)

# -DCUDA_HOME or the variable CUDA_HOME names the toolkit. The driver must be of its major version:
# what is built with a toolkit 12 runs on r525 and newer, with 13 on r580 and newer.
set(OLDEST_CUDA 12.0)

set(no_cuda "")
set(lacks "")
if(HALFCHECK_CUDA STREQUAL OFF)
  set(no_cuda "built with HALFCHECK_CUDA=OFF")
else()
  set(toolkits ${CUDA_HOME} ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda)
  find_program(CUDA_NVCC nvcc HINTS ${toolkits} PATH_SUFFIXES bin)
  find_path(CUDA_INCLUDE cuda_runtime_api.h HINTS ${toolkits} PATH_SUFFIXES include)
  find_library(CUDA_RUNTIME cudart_static HINTS ${toolkits} PATH_SUFFIXES lib64 lib)
  if(NOT CUDA_NVCC OR NOT CUDA_INCLUDE OR NOT CUDA_RUNTIME)
    set(no_cuda "built without the CUDA toolkit")
    set(lacks "no nvcc, cuda_runtime_api.h or cudart_static; set CUDA_HOME")
  else()
    # The compiler's version and the headers' may differ where two toolkits are mixed.
    execute_process(COMMAND ${CUDA_NVCC} --version OUTPUT_VARIABLE nvcc_says)
    file(STRINGS ${CUDA_INCLUDE}/cuda_runtime_api.h header_says REGEX "define CUDART_VERSION +[0-9]")
    string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" matched "${nvcc_says}")
    set(nvcc_major "${CMAKE_MATCH_1}")
    set(nvcc_version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
    string(REGEX MATCH "CUDART_VERSION +([0-9]+)" matched "${header_says}")
    math(EXPR header_major "0${CMAKE_MATCH_1} / 1000")
    if(nvcc_version VERSION_LESS OLDEST_CUDA)
      set(no_cuda "built with CUDA ${nvcc_version}, needed ${OLDEST_CUDA}")
      set(lacks "${CUDA_NVCC} is CUDA ${nvcc_version}, needed ${OLDEST_CUDA}; set CUDA_HOME")
    elseif(NOT header_major EQUAL nvcc_major)
      set(no_cuda "built with nvcc ${nvcc_version} and the headers of CUDA ${header_major}")
      set(lacks "${CUDA_NVCC} is CUDA ${nvcc_version}, ${CUDA_INCLUDE} of CUDA ${header_major}; set CUDA_HOME")
    endif()
  endif()
  if(lacks AND HALFCHECK_CUDA STREQUAL ON)
    message(FATAL_ERROR "HALFCHECK_CUDA=ON: ${lacks}")
  endif()
endif()

if(no_cuda)
  message(STATUS "The backend cuda is left out: ${no_cuda}")
  set_source_files_properties(kernels/plugin/cuda.c PROPERTIES
                              COMPILE_DEFINITIONS HC_NO_CUDA="${no_cuda}")
  return()
endif()

# Machine code for those of the architectures that this nvcc knows, and PTX of the last for newer
# devices. The presets of development build for the first, which takes a fifth of the time: a newer
# device has the driver compile its PTX.
set(HALFCHECK_CUDA_ARCHITECTURES "80;86;89;90;100;120" CACHE STRING
    "the architectures of the kernels of cuda: A100, A10, RTX 40, H100, B200, RTX 50")
execute_process(COMMAND ${CUDA_NVCC} --list-gpu-arch OUTPUT_VARIABLE known)
set(architectures "")
foreach(arch ${HALFCHECK_CUDA_ARCHITECTURES})
  if(known MATCHES "compute_${arch}[\r\n]")
    list(APPEND architectures -gencode arch=compute_${arch},code=sm_${arch})
    set(last ${arch})
  endif()
endforeach()
list(APPEND architectures -gencode arch=compute_${last},code=compute_${last})

# compute-sanitizer and the audit tell lines of the source by -lineinfo.
set(HC_NVCC_FLAGS -x cu -std=c++17 -O3 --fmad=false --ftz=false --prec-div=true --prec-sqrt=true
    -lineinfo)
foreach(floor kernels-own interface op num)
  list(APPEND HC_NVCC_FLAGS -I ${CMAKE_BINARY_DIR}/floors/${floor})
endforeach()
set(nvcc_flags ${HC_NVCC_FLAGS} ${architectures}
    -Xcompiler=-fPIC,-fvisibility=hidden,-Wall,-Wextra,-ffp-contract=off)
# Line information triples the machine code, and has paths of this machine in it. Only compressed by
# --compress-mode=size it is small, which drivers of CUDA 12.0 do not read.
if(nvcc_major GREATER_EQUAL 13)
  list(APPEND nvcc_flags --compress-mode=size)
else()
  list(REMOVE_ITEM nvcc_flags -lineinfo)
endif()
if(HC_KEEP_PTX) # what nvcc makes on the way, hundreds of megabytes
  list(APPEND nvcc_flags --keep --keep-dir ${CMAKE_BINARY_DIR}/cuda/kept)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda/kept)
endif()
# Line information names files by their whole path. What goes to other machines has slashes in place
# of this folder, where gcc preprocesses for nvcc, and where nvcc itself notes the source's name.
if(HC_PORTABLE)
  string(LENGTH ${CMAKE_SOURCE_DIR}/ length)
  string(REPEAT / ${length} slashes)
  find_program(HC_GCC gcc REQUIRED)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cuda/bin/gcc @ONLY CONTENT
"#!/bin/sh
@HC_GCC@ \"$@\" || exit
last=
for word in \"$@\"; do
    case $last,$word in -o,*.ii) sed -i 's|^\\(# [0-9]* \"\\)@CMAKE_SOURCE_DIR@/|\\1@slashes@|' \"$word\" ;; esac
    last=$word
done
")
  file(CHMOD ${CMAKE_BINARY_DIR}/cuda/bin/gcc PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  list(APPEND nvcc_flags -Xcompiler=-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
       -ccbin ${CMAKE_BINARY_DIR}/cuda/bin/gcc)
endif()
if(CMAKE_COMPILE_WARNING_AS_ERROR)
  list(APPEND nvcc_flags -Werror all-warnings)
endif()

# The sanitizers have nothing to say of what nvcc makes: .ci/asan takes it from build/dev.
set(HC_CUDA_OBJECTS "" CACHE PATH "another build's folder cuda, whose objects are taken")

file(GLOB device_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/kernel/*.c
     ${CMAKE_SOURCE_DIR}/kernels/cuda/device/*.cu)
set(objects "")
foreach(source ${device_kernels})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
  set(hidden "")
  list(APPEND objects ${object})
  if(HC_CUDA_OBJECTS)
    set(other ${HC_CUDA_OBJECTS}/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${other} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E copy ${other} ${object} COMMENT "")
    continue()
  endif()
  if(HC_PORTABLE)
    set(hidden COMMAND env LC_ALL=C sed -i s|${CMAKE_SOURCE_DIR}/|${slashes}|g ${object})
  endif()
  # nvcc does not quote the name after -MT. One with a space would be two names, and the object
  # would be built again each time.
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d VERBATIM
                     COMMAND ${CUDA_NVCC} ${nvcc_flags} -MD -MF ${object}.d -MT cuda/${name}.o
                             -c ${source} -o ${object}
                     ${hidden}
                     COMMENT "Building CUDA object ${name}.o")
endforeach()

set(sources "")
foreach(folder cuda cuda/op cuda/library cuda/device)
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/${folder}/*.c)
  list(APPEND sources ${found})
endforeach()
list(FILTER sources EXCLUDE REGEX "_test\\.c$")
add_library(halfcheck-cuda MODULE ${sources} ${objects})
set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set(exports ${CMAKE_SOURCE_DIR}/kernels/cuda/device/exports.map)
set_target_properties(halfcheck-cuda PROPERTIES PREFIX ""
                      LINK_DEPENDS ${exports})
target_include_directories(halfcheck-cuda PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_include_directories(halfcheck-cuda SYSTEM PRIVATE ${CUDA_INCLUDE})
target_link_options(halfcheck-cuda PRIVATE -Wl,--version-script=${exports} -static-libgcc)
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=") # whose functions are the program's
  target_link_options(halfcheck-cuda PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(halfcheck-cuda PRIVATE hc_interface ${CUDA_RUNTIME} Threads::Threads
                      ${CMAKE_DL_LIBS} rt ${HC_STATIC_stdc++})
