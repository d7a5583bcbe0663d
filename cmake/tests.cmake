# Every foo_test.c is a Criterion program of its own, linked with everything. Scripts are tests,
# too.
include(CTest)
find_library(CRITERION_LIBRARY criterion)
if(BUILD_TESTING AND NOT CRITERION_LIBRARY)
  message(STATUS "Criterion not found: no tests")
endif()
if(BUILD_TESTING AND CRITERION_LIBRARY)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       src/*_test.c benches/*_test.c reference/*_test.c kernels/*_test.c cases/*_test.c)
  # There are hundreds of them, and each is linked with all of the program. gold takes half of the
  # time of GNU's usual linker.
  find_program(HC_TEST_LINKER ld.gold)
  if(HC_TEST_LINKER AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
    set(linker -fuse-ld=gold)
  endif()
  foreach(test ${tests})
    string(REGEX REPLACE "\\.c$" "" name ${test})
    string(REPLACE "/" "." name ${name})
    add_executable(${name} ${test})
    target_link_libraries(${name} PRIVATE hc_cli ${CRITERION_LIBRARY})
    target_compile_definitions(${name} PRIVATE HC_PROGRAM="$<TARGET_FILE:halfcheck>"
                               HC_SOURCE="${CMAKE_SOURCE_DIR}")
    # A test beside a kernel or a reference may include its floor's own headers.
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own
                               ${CMAKE_BINARY_DIR}/floors/reference-own)
    add_dependencies(${name} halfcheck)
    # Criterion's macros cause these warnings.
    target_compile_options(${name} PRIVATE -Wno-missing-prototypes -Wno-conversion
                           -Wno-double-promotion -Wno-shadow)
    # What a test calls is as the program has it. To optimize the test itself takes longer than it
    # saves. Two warnings guess from what the optimizer knows, and guess wrong with less of it.
    target_compile_options(${name} PRIVATE -O1 -Wno-format-truncation -Wno-maybe-uninitialized)
    target_link_options(${name} PRIVATE ${linker})
    add_test(NAME ${name} COMMAND ${name})
  endforeach()
  # These run all cases again and again, on kernels that are wrong on purpose or sum in another
  # order. The sanitizers are left out of them (preset asan): they see every case once in
  # tests/run/run.txt, and every recipe in the cases training/*.
  set_tests_properties(cases.constant_test cases.free_order_test cases.idle_test
                       cases.partial_test kernels.cuda.shadow.mutants_test
                       kernels.pipe.loopback_test
                       src.check.selftest.cheat_state_test src.check.selftest.cheat_writes_test
                       src.train.run.recipes_train_test
                       PROPERTIES LABELS all-cases)
  # These start the program and look at its words, on paths through memory that others take under the
  # sanitizers: those of run, gate, judge, gen, verify, merge and training, and the parsers in
  # fuzz-corpus and .ci/fuzz. .ci/asan --all has them, too. The sanitizers' build of every day spares
  # the programs that it does not run.
  option(HC_EVERY_TEST "build every test program under the sanitizers, as .ci/asan --all does" OFF)
  set(words ${tests})
  list(TRANSFORM words REPLACE "\\.c$" "")
  list(TRANSFORM words REPLACE "/" ".")
  set(spared ${words})
  list(FILTER words INCLUDE REGEX "^src\\.cli\\.((colour|bug|run\\.frame|cast\\.mistakes|scaler\\.wrong_scalers|commands\\.explain)_test$|(calc|catches|manual|picture|report)\\.)")
  set_tests_properties(${words} PROPERTIES LABELS words)
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=" AND NOT HC_EVERY_TEST)
    foreach(test ${spared})
      get_test_property(${test} LABELS label)
      if(label MATCHES "^(words|all-cases)$")
        set_target_properties(${test} PROPERTIES EXCLUDE_FROM_ALL TRUE)
      endif()
    endforeach()
  endif()
  # kernels/plugin/plugin_test.c loads these.
  foreach(plugin other_version nothing broken upward)
    add_library(${plugin} MODULE kernels/plugin/plugins/${plugin}.c)
    target_link_libraries(${plugin} PRIVATE hc_interface)
    add_dependencies(kernels.plugin.plugin_test ${plugin})
  endforeach()
  target_compile_definitions(kernels.plugin.plugin_test PRIVATE HC_NO_PLUGIN="$<TARGET_FILE:nothing>"
                             HC_OTHER_PLUGIN="$<TARGET_FILE:other_version>"
                             HC_BROKEN_PLUGIN="$<TARGET_FILE:broken>")
  # src/cli/doctor/doctor_test.c lets this one be loaded into the program.
  add_dependencies(src.cli.doctor.doctor_test upward)
  target_compile_definitions(src.cli.doctor.doctor_test PRIVATE HC_UPWARD="$<TARGET_FILE:upward>")
  add_dependencies(kernels.cuda.library.find_test nothing)
  target_compile_definitions(kernels.cuda.library.find_test PRIVATE
                             HC_STAND_IN="$<TARGET_FILE:nothing>")
  # Programs behind a pipe: one that misbehaves, and the example of docs/pipe.md.
  add_executable(pipe-hostile kernels/pipe/programs/hostile.c)
  # It dies by signals on purpose, which sanitizers would catch.
  target_compile_options(pipe-hostile PRIVATE -fno-sanitize=all)
  target_link_options(pipe-hostile PRIVATE -fno-sanitize=all)
  add_executable(pipe-loopback kernels/pipe/programs/loopback.c)
  target_link_libraries(pipe-loopback PRIVATE hc_kernels)
  add_executable(pipe-example docs/pipe/program.c)
  target_link_libraries(pipe-example PRIVATE m)
  target_compile_options(pipe-example PRIVATE -Wno-conversion)
  foreach(test kernels.pipe.pipe_test kernels.pipe.fuzz_test kernels.pipe.run_test)
    add_dependencies(${test} pipe-hostile)
    target_compile_definitions(${test} PRIVATE HC_HOSTILE="$<TARGET_FILE:pipe-hostile>")
  endforeach()
  foreach(test kernels.pipe.loopback_test
               src.cli.training.comparison_several_test src.cli.training.training_resume_test)
    add_dependencies(${test} pipe-loopback)
    target_compile_definitions(${test} PRIVATE HC_LOOPBACK="$<TARGET_FILE:pipe-loopback>")
  endforeach()
  if(TARGET halfcheck-cuda)
    include(cmake/standin.cmake)
    add_dependencies(kernels.cuda.standin.standin_test standin)
    add_test(NAME kernels.cuda.graph_test-standin COMMAND kernels.cuda.graph_test)
    set_tests_properties(kernels.cuda.graph_test-standin PROPERTIES ENVIRONMENT
      "HC_TEST_BACKEND=cuda;CUDA_HOME=${here};HALFCHECK_CUDA_PLUGIN=${here}/standin.so")
    target_include_directories(kernels.cuda.standin.standin_test SYSTEM PRIVATE ${CUDA_INCLUDE})
    target_compile_definitions(kernels.cuda.standin.standin_test PRIVATE
                               HC_STANDIN="${CMAKE_BINARY_DIR}/standin")
    target_compile_definitions(kernels.plugin.plugin_test PRIVATE
                               HC_CUDA_PLUGIN="$<TARGET_FILE:halfcheck-cuda>")
  endif()
endif()
if(BUILD_TESTING AND TARGET halfcheck-cuda)
  add_test(NAME cuda-half COMMAND ${CMAKE_SOURCE_DIR}/.ci/half ${CUDA_NVCC} ${HC_NVCC_FLAGS})
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=|--coverage")
    add_test(NAME cuda-headers COMMAND ${CMAKE_SOURCE_DIR}/.ci/cuda-headers ${CUDA_NVCC}
                                       ${CMAKE_BINARY_DIR})
    set_tests_properties(cuda-headers PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
# The generated cases, and captured graphs, on the kernels that tell of their accesses.
if(BUILD_TESTING)
  add_test(NAME shadow COMMAND halfcheck run op/* --backend cuda-shadow)
  set_tests_properties(shadow PROPERTIES LABELS all-cases)
  if(TARGET kernels.cuda.graph_test)
    add_test(NAME kernels.cuda.graph_test-shadow COMMAND kernels.cuda.graph_test)
    set_tests_properties(kernels.cuda.graph_test-shadow PROPERTIES
                         ENVIRONMENT HC_TEST_BACKEND=cuda-shadow)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
      set_tests_properties(shadow kernels.cuda.graph_test-shadow kernels.cuda.shadow.mutants_test
                           kernels.cuda.shadow.races_test kernels.cuda.shadow.shadow_test
                           PROPERTIES DISABLED TRUE)
    endif()
  endif()
endif()
if(BUILD_TESTING)
  foreach(set amx avx512fp16 avx512bf16 avx512)
    add_test(NAME hidden-${set} COMMAND ${CMAKE_SOURCE_DIR}/.ci/hidden ${set} ${CMAKE_BINARY_DIR})
  endforeach()
endif()
include(cmake/mpi_tests.cmake)
if(BUILD_TESTING)
  add_test(NAME gpu-check COMMAND ${CMAKE_SOURCE_DIR}/portable/test $<TARGET_FILE:halfcheck>)
endif()
if(BUILD_TESTING)
  add_test(NAME hc COMMAND ${CMAKE_SOURCE_DIR}/.ci/hc)
  add_test(NAME without-cuda COMMAND ${CMAKE_SOURCE_DIR}/.ci/without-cuda)
  add_test(NAME plugins COMMAND ${CMAKE_SOURCE_DIR}/.ci/plugins ${CMAKE_BINARY_DIR}
                                ${CMAKE_C_COMPILER})
  add_test(NAME install COMMAND ${CMAKE_SOURCE_DIR}/.ci/install ${CMAKE_BINARY_DIR})
endif()
if(BUILD_TESTING)
  add_test(NAME docs COMMAND ${CMAKE_SOURCE_DIR}/.ci/docs $<TARGET_FILE:halfcheck>)
  add_test(NAME torch-scaler COMMAND ${CMAKE_SOURCE_DIR}/cases/scaler/real/torch-test
           $<TARGET_FILE:halfcheck>)
  add_test(NAME torch-step-files COMMAND ${CMAKE_SOURCE_DIR}/cases/checkpoint/real/torch-test
           $<TARGET_FILE:halfcheck>)
  set_tests_properties(docs torch-scaler torch-step-files PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(BUILD_TESTING)
  add_test(NAME packages-fp8 COMMAND ${CMAKE_SOURCE_DIR}/reports/packages/test
           $<TARGET_FILE:halfcheck> ${CMAKE_BINARY_DIR}/python)
  set_tests_properties(packages-fp8 PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(BUILD_TESTING)
  add_test(NAME cuda-conversions COMMAND ${CMAKE_SOURCE_DIR}/cases/rounding/real/cuda-test
           $<TARGET_FILE:halfcheck> ${CUDA_INCLUDE})
  set_tests_properties(cuda-conversions PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(BUILD_TESTING)
  add_test(NAME step-in-numpy COMMAND ${CMAKE_SOURCE_DIR}/src/train/run/numpy-test
                                      $<TARGET_FILE:halfcheck>)
  set_tests_properties(step-in-numpy PROPERTIES SKIP_RETURN_CODE 77)
  foreach(test torch_test torch_gradients)
    string(REPLACE "torch_test" "judge-step-torch" name ${test})
    string(REPLACE "_" "-" name ${name})
    add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/src/cli/judge_step/torch-test ${test}.py
             $<TARGET_FILE:halfcheck>)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
if(BUILD_TESTING)
  add_test(NAME report-in-a-browser COMMAND ${CMAKE_SOURCE_DIR}/.ci/browser
                                            $<TARGET_FILE:halfcheck>)
  set_tests_properties(report-in-a-browser PROPERTIES SKIP_RETURN_CODE 77)
endif()
# The workflows of docs/ci/, as far as they run without a CI.
if(BUILD_TESTING)
  add_test(NAME workflows COMMAND ${CMAKE_SOURCE_DIR}/.ci/workflows $<TARGET_FILE:halfcheck>)
  set_tests_properties(workflows PROPERTIES SKIP_RETURN_CODE 77)
endif()
# This test fetches packages. Without a network it is skipped.
if(BUILD_TESTING)
  add_test(NAME real-scalers COMMAND ${CMAKE_SOURCE_DIR}/cases/scaler/real/test
           $<TARGET_FILE:halfcheck> ${CMAKE_BINARY_DIR}/real-scalers)
  set_tests_properties(real-scalers PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 180)
endif()
# The Python package, and its notebook. These tests fetch ml_dtypes, which Debian 12 has not.
if(BUILD_TESTING)
  add_test(NAME python COMMAND ${CMAKE_SOURCE_DIR}/python/test $<TARGET_FILE:halfcheck>
           ${CMAKE_BINARY_DIR}/python)
  add_test(NAME notebook COMMAND ${CMAKE_SOURCE_DIR}/.ci/notebook $<TARGET_FILE:halfcheck>
           ${CMAKE_BINARY_DIR}/python)
  set_tests_properties(python notebook PROPERTIES SKIP_RETURN_CODE 77)
endif()
# Faults in what hands verdicts on.
find_program(HC_PYTHON python3 HINTS /usr/bin)
if(BUILD_TESTING AND HC_PYTHON)
  add_test(NAME planted-python COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/planted.py python
                                       ${CMAKE_BINARY_DIR}/python $<TARGET_FILE:halfcheck>)
  add_test(NAME planted-gate COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/planted.py gate
                                     ${CMAKE_BINARY_DIR})
  set_tests_properties(planted-python planted-gate PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
include(cmake/robustness.cmake)
if(BUILD_TESTING)
  add_test(NAME tidy-record COMMAND ${CMAKE_SOURCE_DIR}/.ci/tidy-test)
  set_tests_properties(tidy-record PROPERTIES SKIP_RETURN_CODE 77)
endif()
find_program(CLANG_FORMAT clang-format)
if(BUILD_TESTING AND CLANG_FORMAT)
  add_test(NAME style COMMAND ${CMAKE_SOURCE_DIR}/.ci/style)
  set_tests_properties(style PROPERTIES SKIP_RETURN_CODE 77) # another clang-format
endif()
include(cmake/transcripts.cmake)
# The longest first, by what they take of a processor, so that no core waits for them at the end. The
# first of them run many programs each, one after the other, and may take ten minutes.
if(BUILD_TESTING)
  set(cost 100)
  foreach(test tests.run.selftest docs python src.cli.commands.explain_test notebook
          cases.constant_test src.cli.cast.mistakes_test cases.idle_test
          src.check.generate.op_cases_test src.check.selftest.cheat_writes_test
          kernels.cuda.shadow.mutants_test gpu-check src.cli.report.report_texts_test
          tests.run.run cases.partial_test judge-step-torch kernels.pipe.loopback_test
          report-in-a-browser real-scalers kernels.cuda.standin.standin_test
          src.check.selftest.cheat_state_test src.cli.judge_step.judge_step_test
          cases.free_order_test tests.verify.cast torch-gradients src.cli.limits_test
          src.check.generate.bit_cases_test plugins src.train.run.resume_test
          src.train.run.dump_test src.train.run.trainer_test torch-step-files torch-scaler
          src.cli.catches.catches_test)
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES COST ${cost})
    endif()
    if(TEST ${test} AND cost GREATER 95)
      set_tests_properties(${test} PROPERTIES TIMEOUT 600)
    endif()
    math(EXPR cost "${cost} - 1")
  endforeach()
endif()
