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
  include(cmake/criterion.cmake)
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
foreach(test judge-step-torch torch-gradients torch-gpt-gradients)
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
# has not, and those that are named by jax fetch jax.
file(GLOB tests RELATIVE ${CMAKE_SOURCE_DIR}/python/tests ${CMAKE_SOURCE_DIR}/python/tests/test_*.py)
foreach(test ${tests})
  string(REGEX REPLACE "test_(.*).py" "python.\\1" name ${test})
  set(jax "")
  if(test MATCHES _jax)
    set(jax -jax)
  endif()
  hc_script(${name} FROM ${HC_ALL} python definitions docs/definitions.md
                         reports/measured/definitions +numpy +torch +mpmath +pytest
            COMMAND python/test ${program} ${venv}${jax} python/tests/${test})
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
