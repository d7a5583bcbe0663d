# The plug-in halfcheck-nccl.so, beside the program: NCCL's collectives on the memory of GPUs
# (src/comm/device.h). It is compiled with nccl.h and linked with libnccl, which the program is not,
# and the CUDA runtime is linked in. -DNCCL_HOME or the variable NCCL_HOME names a folder with
# include and lib, such as the Python package's site-packages/nvidia/nccl.
set(HALFCHECK_NCCL AUTO CACHE STRING
    "build NCCL's collectives: AUTO (where there is NCCL, with the backend cuda), ON or OFF")
set_property(CACHE HALFCHECK_NCCL PROPERTY STRINGS AUTO ON OFF)
set(OLDEST_NCCL 2.13)

set(no_nccl "")
if(HALFCHECK_NCCL STREQUAL OFF)
  set(no_nccl "built with HALFCHECK_NCCL=OFF")
elseif(NOT TARGET halfcheck-cuda)
  set(no_nccl "built without the backend cuda")
elseif(HC_PORTABLE)
  set(no_nccl "built for other machines, without NCCL")
else()
  find_path(NCCL_INCLUDE nccl.h HINTS ${NCCL_HOME} ENV NCCL_HOME ${toolkits}
            PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR
               HINTS ${NCCL_HOME} ENV NCCL_HOME ${toolkits} PATH_SUFFIXES lib64 lib)
  if(NOT NCCL_INCLUDE OR NOT NCCL_LIBRARY)
    set(no_nccl "built without NCCL: no nccl.h or libnccl; set NCCL_HOME")
  else()
    file(STRINGS ${NCCL_INCLUDE}/nccl.h nccl_says REGEX "define NCCL_(MAJOR|MINOR) +[0-9]")
    string(REGEX REPLACE "[^0-9;]" "" nccl_version "${nccl_says}")
    list(JOIN nccl_version . nccl_version)
    if(nccl_version VERSION_LESS OLDEST_NCCL OR nccl_version VERSION_GREATER_EQUAL 3)
      set(no_nccl "built with NCCL ${nccl_version}, needed ${OLDEST_NCCL} or a later 2")
    endif()
  endif()
  if(no_nccl AND HALFCHECK_NCCL STREQUAL ON)
    message(FATAL_ERROR "HALFCHECK_NCCL=ON: ${no_nccl}")
  endif()
endif()

if(no_nccl)
  message(STATUS "NCCL's collectives are left out: ${no_nccl}")
  set_source_files_properties(src/comm/device.c PROPERTIES
                              COMPILE_DEFINITIONS HC_NO_NCCL="${no_nccl}")
  return()
endif()

# The floor's headers without its code, which stays in the program.
add_library(hc_comm_headers_only INTERFACE)
foreach(floor comm interface op num)
  target_include_directories(hc_comm_headers_only INTERFACE ${CMAKE_BINARY_DIR}/floors/${floor})
endforeach()

file(GLOB NCCL_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/comm/nccl/*.c)
list(FILTER NCCL_SOURCES EXCLUDE REGEX "_test\\.c$")
add_library(halfcheck-nccl MODULE ${NCCL_SOURCES})
set(exports ${CMAKE_SOURCE_DIR}/src/comm/nccl/exports.map)
set_target_properties(halfcheck-nccl PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
target_include_directories(halfcheck-nccl SYSTEM PRIVATE ${CUDA_INCLUDE} ${NCCL_INCLUDE})
target_link_options(halfcheck-nccl PRIVATE -Wl,--version-script=${exports} -static-libgcc)
if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=") # whose functions are the program's
  target_link_options(halfcheck-nccl PRIVATE -Wl,-z,defs)
endif()
target_link_libraries(halfcheck-nccl PRIVATE hc_comm_headers_only hc_num ${NCCL_LIBRARY}
                      ${CUDA_RUNTIME} Threads::Threads ${CMAKE_DL_LIBS} rt)
