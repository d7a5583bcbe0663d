# The programs of Criterion's tests: what compiles and links them, and the entries of ctest. What
# stands here counts for each of those that .ci/if-changed may pass over.
file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     src/*_test.c benches/*_test.c reference/*_test.c kernels/*_test.c cases/*_test.c)
# They are linked with all of the program. gold takes half of the time of GNU's usual linker.
find_program(HC_TEST_LINKER ld.gold)
if(HC_TEST_LINKER AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  set(linker -fuse-ld=gold)
endif()
# These run all cases again and again, on kernels that are wrong on purpose or sum in another
# order. The sanitizers are left out of them (preset asan): they see every case once in
# tests/run/run.txt, and every recipe in the cases training/*.
set(all_cases cases.constant_test cases.free_order_test cases.idle_test cases.partial_test
    kernels.cuda.shadow.mutants_test
    src.check.selftest.cheat_state_test src.check.selftest.cheat_writes_test
    src.train.run.recipes_train_test)
# These start the program and look at its words, on paths through memory that others take under the
# sanitizers: those of run, gate, judge, gen, verify, merge and training, and the parsers in
# fuzz-corpus and .ci/fuzz. .ci/asan --all has them, too. The sanitizers' build of every day spares
# the tests that it does not run.
set(words "^src\\.cli\\.((colour|bug|cast\\.mistakes|commands\\.explain)_test$|(calc|catches|manual|picture|report)\\.)")
# These compute more of the same: shares of a drift are in tests/training/compare.txt, too, and the
# other counts successes.
set(numbers src.cli.statistics.sequential_test src.train.drift.drift_shapley_test)
option(HC_EVERY_TEST "build every test under the sanitizers, as .ci/asan --all does" OFF)
# The stand-in for NCCL is linked into these, whose symbols no other test may see.
set(alone src.comm.nccl.nccl_test kernels.cuda.standin.nccl.mistakes_test
    src.train.parallel.on_device_test)

add_library(hc_test_main OBJECT cmake/test_main.c)
target_compile_options(hc_test_main PRIVATE -Wno-conversion -Wno-shadow)
# hc_test_program(NAME): a program of tests, whose objects are still to be named.
function(hc_test_program name)
  add_executable(${name} $<TARGET_OBJECTS:hc_test_main>)
  target_link_libraries(${name} PRIVATE hc_cli ${CRITERION_LIBRARY})
  target_link_options(${name} PRIVATE ${linker} -Wl,--wrap=mkdtemp,--wrap=mkstemp) # test_main.c
  add_dependencies(${name} halfcheck)
endfunction()

foreach(test ${tests})
  string(REGEX REPLACE "\\.c$" "" name ${test})
  string(REPLACE "/" "." name ${name})
  string(REGEX MATCH "^((src|kernels)\\.)?[^.]+" program ${name})
  set(label "")
  if(name IN_LIST all_cases)
    set(label all-cases)
  elseif(name IN_LIST numbers)
    set(label numbers)
  elseif(name MATCHES "${words}")
    set(label words)
  endif()
  add_library(objects.${name} OBJECT EXCLUDE_FROM_ALL ${test})
  target_link_libraries(objects.${name} PRIVATE hc_cli)
  target_compile_definitions(objects.${name} PRIVATE HC_PROGRAM="$<TARGET_FILE:halfcheck>"
                             HC_SOURCE="${CMAKE_SOURCE_DIR}")
  # A test beside a kernel or a reference may include its floor's own headers.
  target_include_directories(objects.${name} PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own
                             ${CMAKE_BINARY_DIR}/floors/reference-own)
  # Criterion's macros cause these warnings.
  target_compile_options(objects.${name} PRIVATE -Wno-missing-prototypes -Wno-conversion
                         -Wno-double-promotion -Wno-shadow)
  # What a test calls is as the program has it. To optimize the test itself takes longer than it
  # saves, but for those that take long. Two warnings guess from what the optimizer knows, and guess
  # wrong with less of it.
  set(optimized -O0)
  if(name IN_LIST HC_LONG)
    set(optimized -O1)
  endif()
  target_compile_options(objects.${name} PRIVATE ${optimized} -Wno-format-truncation
                         -Wno-maybe-uninitialized)
  hc_test_program(${name})
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:objects.${name}>)
  if(name IN_LIST alone)
    if(TARGET halfcheck-nccl)
      add_test(NAME ${name} COMMAND ${name})
    else() # its file is empty
      add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: ${no_nccl}")
      set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
    endif()
    continue()
  endif()
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  if(name STREQUAL kernels.cuda.standin.standin_test AND NOT TARGET halfcheck-cuda) # nor has this
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: built without the backend cuda")
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^SKIPPED: ")
    continue()
  endif()
  if(NOT TARGET ${program})
    hc_test_program(${program})
  endif()
  set(unchanged "")
  if(name IN_LIST HC_LONG)
    hc_seen_by(seen ${name})
    hc_if_changed(unchanged ${name} ${test} cmake/test_main.c cmake/criterion.cmake ${seen})
  endif()
  add_test(NAME ${name} COMMAND ${unchanged} $<TARGET_FILE:${program}> ${test})
  set_tests_properties(${name} PROPERTIES LABELS "${label}")
  if(unchanged)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  if(NOT label OR NOT CMAKE_C_FLAGS MATCHES "-fsanitize=" OR HC_EVERY_TEST)
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:objects.${name}>)
  endif()
endforeach()
# kernels/plugin/plugin_test.c loads these, and so do the programs of tests/run/plugin.txt and
# tests/words/doctor.txt.
foreach(plugin other_version nothing broken upward)
  add_library(${plugin} MODULE kernels/plugin/plugins/${plugin}.c)
  target_link_libraries(${plugin} PRIVATE hc_interface)
  add_dependencies(objects.kernels.plugin.plugin_test ${plugin})
endforeach()
target_compile_definitions(objects.kernels.plugin.plugin_test PRIVATE HC_NO_PLUGIN="$<TARGET_FILE:nothing>"
                           HC_OTHER_PLUGIN="$<TARGET_FILE:other_version>")
add_dependencies(objects.kernels.cuda.library.find_test nothing)
target_compile_definitions(objects.kernels.cuda.library.find_test PRIVATE
                           HC_STAND_IN="$<TARGET_FILE:nothing>")
# Programs behind a pipe, which tests/pipe/ starts, too: one that misbehaves, one of our kernels,
# and the example of docs/pipe.md.
add_executable(pipe-hostile kernels/pipe/programs/hostile.c)
# It dies by signals on purpose, which sanitizers would catch.
target_compile_options(pipe-hostile PRIVATE -fno-sanitize=all)
target_link_options(pipe-hostile PRIVATE -fno-sanitize=all)
add_executable(pipe-loopback kernels/pipe/programs/loopback.c)
target_link_libraries(pipe-loopback PRIVATE hc_kernels)
add_executable(pipe-example docs/pipe/program.c)
target_link_libraries(pipe-example PRIVATE m)
target_compile_options(pipe-example PRIVATE -Wno-conversion)
foreach(test kernels.pipe.pipe_test kernels.pipe.fuzz_test)
  add_dependencies(objects.${test} pipe-hostile)
  target_compile_definitions(objects.${test} PRIVATE HC_HOSTILE="$<TARGET_FILE:pipe-hostile>")
endforeach()
if(TARGET halfcheck-cuda)
  include(cmake/standin.cmake)
  add_dependencies(objects.kernels.cuda.standin.standin_test standin)
  add_test(NAME kernels.cuda.graph_test-standin COMMAND kernels.cuda kernels/cuda/graph_test.c)
  set_tests_properties(kernels.cuda.graph_test-standin PROPERTIES ENVIRONMENT
    "HC_TEST_BACKEND=cuda;CUDA_HOME=${here};HALFCHECK_CUDA_PLUGIN=${here}/standin.so")
  target_include_directories(objects.kernels.cuda.standin.standin_test SYSTEM PRIVATE ${CUDA_INCLUDE})
  target_compile_definitions(objects.kernels.cuda.standin.standin_test PRIVATE
                             HC_STANDIN="${CMAKE_BINARY_DIR}/standin")
  target_compile_definitions(objects.kernels.plugin.plugin_test PRIVATE
                             HC_CUDA_PLUGIN="$<TARGET_FILE:halfcheck-cuda>")
endif()
