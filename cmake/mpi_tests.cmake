# Ranks that mpirun starts. Without mpirun these tests are skipped, with a line.
if(NOT BUILD_TESTING OR NOT CRITERION_LIBRARY)
  return()
endif()
add_executable(comm-ranks src/comm/programs/ranks.c)
target_link_libraries(comm-ranks PRIVATE hc_comm)
# src/comm/plugin_test.c loads these.
foreach(plugin other_mpi poor_mpi)
  add_library(${plugin} MODULE src/comm/plugins/${plugin}.c)
  target_link_libraries(${plugin} PRIVATE hc_op)
  target_include_directories(${plugin} PRIVATE ${CMAKE_BINARY_DIR}/floors/comm)
endforeach()
add_dependencies(objects.src.comm.plugin_test other_mpi poor_mpi nothing)
add_dependencies(objects.src.comm.device_test nothing)
target_compile_definitions(objects.src.comm.device_test PRIVATE HC_NO_PLUGIN="$<TARGET_FILE:nothing>")
target_compile_definitions(objects.src.comm.plugin_test PRIVATE HC_NO_PLUGIN="$<TARGET_FILE:nothing>"
                           HC_OTHER_MPI="$<TARGET_FILE:other_mpi>"
                           HC_POOR_MPI="$<TARGET_FILE:poor_mpi>")
if(NOT TARGET halfcheck-mpi)
  return()
endif()
add_dependencies(comm-ranks halfcheck-mpi)

# hc_mpi_test(NAME RANKS COMMAND...): `mpirun -n RANKS COMMAND` must end with status 0.
function(hc_mpi_test name ranks)
  add_test(NAME mpi-${name} COMMAND ${CMAKE_SOURCE_DIR}/.ci/mpirun -n ${ranks} ${ARGN})
  set_tests_properties(mpi-${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endfunction()

foreach(ranks 1 2 4 8)
  hc_mpi_test(ranks-${ranks} ${ranks} $<TARGET_FILE:comm-ranks> works)
endforeach()

foreach(ranks 1 2 3 4 8)
  hc_mpi_test(averages-${ranks} ${ranks} $<TARGET_FILE:comm-ranks> averages)
endforeach()

# What is longer than an int counts goes in pieces. Here a piece is short, and all is longer.
hc_mpi_plugin(mpi-pieces HC_MPI_PIECE=1000)
add_dependencies(comm-ranks mpi-pieces)
hc_mpi_test(pieces 3 $<TARGET_FILE:comm-ranks> works)
set_tests_properties(mpi-pieces PROPERTIES
                     ENVIRONMENT HALFCHECK_MPI_PLUGIN=$<TARGET_FILE:mpi-pieces>)

# Ranks that are killed, stopped or misled. The silence that ends a job is shorter here.
find_program(HC_PYTHON python3)
hc_if_changed(unchanged mpi-lost src/comm src/num src/op src/unit src/backend.h kernels)
add_test(NAME mpi-lost COMMAND ${unchanged} ${HC_PYTHON} ${CMAKE_SOURCE_DIR}/src/comm/programs/lost.py
                               ${CMAKE_SOURCE_DIR}/.ci/mpirun $<TARGET_FILE:comm-ranks>)
set_tests_properties(mpi-lost PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
                     ENVIRONMENT HALFCHECK_WATCH=4)

# The program itself on several ranks.
foreach(test run refused train study killed)
  hc_if_changed(unchanged mpi-${test} ${HC_ALL} .ci/mpirun)
  add_test(NAME mpi-${test} COMMAND ${unchanged} ${CMAKE_SOURCE_DIR}/src/cli/ranks/mpi-test ${test}
                                    $<TARGET_FILE:halfcheck>)
  set_tests_properties(mpi-${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
