# The plug-in halfcheck-mpi.so, beside the program: ranks that are processes of an MPI job. Only it
# is linked with MPI.
set(HALFCHECK_MPI AUTO CACHE STRING
    "build the plug-in for ranks of MPI: AUTO (where there is MPI), ON or OFF")
set_property(CACHE HALFCHECK_MPI PROPERTY STRINGS AUTO ON OFF)

set(no_mpi "")
if(HALFCHECK_MPI STREQUAL OFF)
  set(no_mpi "built with HALFCHECK_MPI=OFF")
elseif(HC_PORTABLE)
  set(no_mpi "the portable program has no MPI, which belongs to each machine")
else()
  find_package(MPI QUIET COMPONENTS C)
  if(NOT MPI_C_FOUND)
    set(no_mpi "built without MPI")
  endif()
  if(NOT MPI_C_FOUND AND HALFCHECK_MPI STREQUAL ON)
    message(FATAL_ERROR "HALFCHECK_MPI=ON: no MPI; install libopenmpi-dev, or set MPI_C_COMPILER")
  endif()
endif()

if(no_mpi)
  message(STATUS "Ranks of MPI are left out: ${no_mpi}")
  set_source_files_properties(src/comm/plugin.c PROPERTIES
                              COMPILE_DEFINITIONS HC_NO_MPI="${no_mpi}")
  return()
endif()

# hc_mpi_plugin(NAME DEFINITION...): the plug-in, as it is or for a test.
file(GLOB mpi_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/comm/mpi/*.c)
function(hc_mpi_plugin name)
  set(exports ${CMAKE_SOURCE_DIR}/src/comm/mpi/exports.map)
  add_library(${name} MODULE ${mpi_sources})
  set_target_properties(${name} PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/floors/comm)
  target_include_directories(${name} SYSTEM PRIVATE ${MPI_C_INCLUDE_DIRS})
  target_compile_definitions(${name} PRIVATE ${ARGN})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports})
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=") # whose functions are the program's
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  target_link_libraries(${name} PRIVATE hc_op ${MPI_C_LIBRARIES} ${CMAKE_DL_LIBS})
endfunction()
hc_mpi_plugin(halfcheck-mpi)
# An MPI that is no library of the system is found where it was found now, also once installed.
if(NOT "${MPI_C_LIBRARIES}" MATCHES "^/(usr/)?lib")
  set_target_properties(halfcheck-mpi PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endif()
