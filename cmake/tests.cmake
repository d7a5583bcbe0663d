# Every foo_test.c has tests of Criterion's. Those of a component, as src/check or kernels/cuda, are
# one program, src.check, which runs a file of them as `src.check src/check/compare_test.c`: ctest
# has an entry for each file, src.check.compare_test. For work at one file there is a target of that
# name, which is not built otherwise: a program of this file alone. Scripts are tests, too.
include(CTest)
find_program(HC_PYTHON python3 HINTS /usr/bin)
include(cmake/changed.cmake)
find_library(CRITERION_LIBRARY criterion)
if(BUILD_TESTING AND NOT CRITERION_LIBRARY)
  message(STATUS "Criterion not found: no tests")
endif()
if(BUILD_TESTING AND CRITERION_LIBRARY)
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
      kernels.cuda.shadow.mutants_test kernels.pipe.loopback_test
      src.check.selftest.cheat_state_test src.check.selftest.cheat_writes_test
      src.train.run.recipes_train_test)
  # These start the program and look at its words, on paths through memory that others take under the
  # sanitizers: those of run, gate, judge, gen, verify, merge and training, and the parsers in
  # fuzz-corpus and .ci/fuzz. .ci/asan --all has them, too. The sanitizers' build of every day spares
  # the tests that it does not run.
  set(words "^src\\.cli\\.((colour|bug|run\\.frame|cast\\.mistakes|scaler\\.wrong_scalers|commands\\.explain)_test$|(calc|catches|manual|picture|report)\\.)")
  # These compute more of the same: shares of a drift are in src/cli/training/comparison_run_test.c,
  # too, and the other counts successes.
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
      add_test(NAME ${name} COMMAND ${name})
      continue()
    endif()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    if(NOT TARGET ${program})
      hc_test_program(${program})
    endif()
    set(unchanged "")
    if(name IN_LIST HC_LONG)
      hc_seen_by(seen ${name})
      hc_if_changed(unchanged ${name} ${test} cmake/test_main.c ${seen})
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
  # kernels/plugin/plugin_test.c loads these.
  foreach(plugin other_version nothing broken upward)
    add_library(${plugin} MODULE kernels/plugin/plugins/${plugin}.c)
    target_link_libraries(${plugin} PRIVATE hc_interface)
    add_dependencies(objects.kernels.plugin.plugin_test ${plugin})
  endforeach()
  target_compile_definitions(objects.kernels.plugin.plugin_test PRIVATE HC_NO_PLUGIN="$<TARGET_FILE:nothing>"
                             HC_OTHER_PLUGIN="$<TARGET_FILE:other_version>"
                             HC_BROKEN_PLUGIN="$<TARGET_FILE:broken>")
  # src/cli/doctor/doctor_test.c lets this one be loaded into the program.
  add_dependencies(objects.src.cli.doctor.doctor_test upward)
  target_compile_definitions(objects.src.cli.doctor.doctor_test PRIVATE HC_UPWARD="$<TARGET_FILE:upward>")
  add_dependencies(objects.kernels.cuda.library.find_test nothing)
  target_compile_definitions(objects.kernels.cuda.library.find_test PRIVATE
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
    add_dependencies(objects.${test} pipe-hostile)
    target_compile_definitions(objects.${test} PRIVATE HC_HOSTILE="$<TARGET_FILE:pipe-hostile>")
  endforeach()
  foreach(test kernels.pipe.loopback_test
               src.cli.training.comparison_several_test src.cli.training.training_resume_test)
    add_dependencies(objects.${test} pipe-loopback)
    target_compile_definitions(objects.${test} PRIVATE HC_LOOPBACK="$<TARGET_FILE:pipe-loopback>")
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
endif()
if(NOT BUILD_TESTING)
  return()
endif()

# hc_script(NAME [FROM WHAT...] COMMAND...): a script that is a test. It ends with 77, and says why,
# where something cannot be had. FROM says what its answer depends on alone, as .ci/if-changed does.
function(hc_script name)
  cmake_parse_arguments(S "" "" "FROM;COMMAND" ${ARGN})
  set(unchanged "")
  if(S_FROM)
    hc_if_changed(unchanged ${name} ${S_FROM})
  endif()
  list(GET S_COMMAND 0 script)
  if(NOT IS_ABSOLUTE ${script} AND NOT script MATCHES "^\\$")
    list(TRANSFORM S_COMMAND PREPEND ${CMAKE_SOURCE_DIR}/ AT 0)
  endif()
  add_test(NAME ${name} COMMAND ${unchanged} ${S_COMMAND})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

set(program $<TARGET_FILE:halfcheck>)
set(venv ${CMAKE_BINARY_DIR}/python) # of python/venv
if(TARGET halfcheck-cuda)
  hc_script(cuda-half FROM -processor .ci/half kernels/cuda src/num src/op
            COMMAND .ci/half ${CUDA_NVCC} ${HC_NVCC_FLAGS})
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=|--coverage")
    hc_script(cuda-headers FROM -processor .ci/cuda-headers ${HC_KERNELS}
              COMMAND .ci/cuda-headers ${CUDA_NVCC} ${CMAKE_BINARY_DIR})
  endif()
endif()
# The generated cases, and captured graphs, on the kernels that tell of their accesses.
hc_script(shadow FROM ${HC_ALL} COMMAND ${program} run op/* --backend cuda-shadow)
set_tests_properties(shadow PROPERTIES LABELS all-cases)
if(CRITERION_LIBRARY)
  add_test(NAME kernels.cuda.graph_test-shadow COMMAND kernels.cuda kernels/cuda/graph_test.c)
  set_tests_properties(kernels.cuda.graph_test-shadow PROPERTIES
                       ENVIRONMENT HC_TEST_BACKEND=cuda-shadow)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
    set_tests_properties(shadow kernels.cuda.graph_test-shadow kernels.cuda.shadow.mutants_test
                         kernels.cuda.shadow.races_test kernels.cuda.shadow.shadow_test
                         PROPERTIES DISABLED TRUE)
  endif()
endif()
set(hidden .ci/hidden tests/run.py tests/tools tests/words/list.txt tests/words/doctor.txt
    kernels/amx/model_test.c kernels/avx512bf16/whole_test.c kernels/host/native/native_test.c
    kernels/sim/quant_gemm_test.c src/cli/calc/backend_test.c)
foreach(set amx avx512fp16 avx512bf16 avx512)
  hc_script(hidden-${set} FROM ${HC_ALL} ${hidden} COMMAND .ci/hidden ${set} ${CMAKE_BINARY_DIR})
endforeach()
include(cmake/mpi_tests.cmake)
hc_script(gpu-check FROM ${HC_ALL} portable COMMAND portable/test ${program})
hc_script(hc COMMAND .ci/hc)
hc_script(release COMMAND .ci/release-test)
hc_script(without-cuda COMMAND .ci/without-cuda)
hc_script(plugins COMMAND .ci/plugins ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
hc_script(install COMMAND .ci/install ${CMAKE_BINARY_DIR})
include(cmake/docs.cmake)
# What scalers do is asked of gen and verify, which run no kernel.
set(scalers cases/scaler cases/fixture src/num src/op src/train/update src/check/record
    src/cli/scaler src/cli/protocol src/cli/run src/cli/lines.c src/cli/lines.h ${HC_BUILD})
hc_script(torch-scaler FROM ${scalers} +torch COMMAND cases/scaler/real/torch-test ${program})
hc_script(torch-step-files FROM ${HC_ALL} cases/checkpoint python +torch
          COMMAND cases/checkpoint/real/torch-test ${program})
hc_script(packages-fp8 FROM ${HC_ALL} reports/packages python/venv +numpy +torch
          COMMAND reports/packages/test ${program} ${venv})
hc_script(cuda-conversions FROM ${HC_ALL} cases/rounding/real
          COMMAND cases/rounding/real/cuda-test ${program} ${CUDA_INCLUDE})
hc_script(step-in-numpy FROM ${HC_ALL} python +numpy
          COMMAND src/train/run/numpy-test ${program})
hc_script(step-causes FROM ${HC_ALL} python docs/step-files.md +numpy
          COMMAND src/cli/judge_step/causes-test ${program})
foreach(test judge-step-torch torch-gradients)
  string(REPLACE "judge-step-torch" "torch_test" name ${test})
  string(REPLACE "-" "_" name ${name})
  hc_script(${test} FROM ${HC_ALL} python +torch
            COMMAND src/cli/judge_step/torch-test ${name}.py ${program})
endforeach()
hc_script(report-in-a-browser FROM ${HC_ALL} reports .ci/browser .ci/browser.py
          COMMAND .ci/browser ${program})
# The workflows of docs/ci/, as far as they run without a CI.
hc_script(workflows COMMAND .ci/workflows ${program})
# This test fetches packages, whose versions it names. Without a network it is skipped.
hc_script(real-scalers FROM ${scalers}
          COMMAND cases/scaler/real/test ${program} ${CMAKE_BINARY_DIR}/real-scalers)
set_tests_properties(real-scalers PROPERTIES TIMEOUT 180)
# The Python package, a test a file, and its notebook. These tests fetch ml_dtypes, which Debian 12
# has not.
file(GLOB tests RELATIVE ${CMAKE_SOURCE_DIR}/python/tests ${CMAKE_SOURCE_DIR}/python/tests/test_*.py)
foreach(test ${tests})
  string(REGEX REPLACE "test_(.*).py" "python.\\1" name ${test})
  hc_script(${name} FROM ${HC_ALL} python definitions docs/definitions.md
                         reports/measured/definitions +numpy +torch +mpmath +pytest
            COMMAND python/test ${program} ${venv} python/tests/${test})
endforeach()
hc_script(notebook FROM ${HC_ALL} python .ci/notebook .ci/notebook.py +numpy +nbclient +matplotlib
          COMMAND .ci/notebook ${program} ${venv})
# Faults in what hands verdicts on. The package's tests find those planted in the package, whatever
# the program: that it is right the tests python.* say.
if(HC_PYTHON)
  hc_script(planted-python FROM python .ci/planted.py +numpy +torch +pytest
            COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/planted.py python ${venv} ${program})
  file(GLOB tests RELATIVE ${CMAKE_SOURCE_DIR} tests/gate/*.txt)
  hc_script(planted-gate FROM ${HC_ALL} .ci/planted.py tests/run.py tests/tools ${tests}
            COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/planted.py gate ${CMAKE_BINARY_DIR})
  set_tests_properties(planted-python planted-gate PROPERTIES TIMEOUT 1500)
endif()
hc_script(tidy-record COMMAND .ci/tidy-test)
hc_script(green-record COMMAND .ci/if-changed-test)
hc_script(records COMMAND .ci/records-test)
hc_script(reuse COMMAND .ci/reuse-test)
find_program(CLANG_FORMAT clang-format)
if(CLANG_FORMAT)
  hc_script(style COMMAND .ci/style) # 77: another clang-format
endif()
include(cmake/transcripts.cmake)
