# hc_if_changed(OUT NAME WHAT...): a prefix of the command of the long test NAME, with which it is
# not run where it has passed with the same files, compilers and libraries (.ci/if-changed). The
# folders are those of the floors that the test sees, or whose programs it runs. With gcov all is
# run.
set(HC_BUILT_WITH "=${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${HC_FLAGS}"
    "=mpfr ${MPFR_VERSION} onednn ${DNNL_VERSION} cuda ${nvcc_version}")
# What else a test of the program may see of the system. Where dpkg does not say, no record fits.
find_program(HC_DPKG dpkg-query)
set(versions "not known here")
if(HC_DPKG)
  execute_process(COMMAND ${HC_DPKG} -W -f "\${Package} \${Version}, " binutils gnuplot-nox libc6
                          libcriterion3 libgmp10 libgomp1 libjansson4 libopenmpi3 python3
                  OUTPUT_VARIABLE versions ERROR_QUIET)
endif()
list(APPEND HC_BUILT_WITH "=${versions}")

# What makes the build, but not the tests.
set(HC_BUILD CMakeLists.txt cmake/build.h.in)
foreach(part commit cuda dependencies environment floors mpi nccl public registry sanitizers scripts
        shadow standin vectors)
  list(APPEND HC_BUILD cmake/${part}.cmake)
endforeach()
file(GLOB page RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS reports/*.gp reports/page.*)
# hc_floors(OUT FLOOR...): the folders of the floors, and of those below.
function(hc_floors out)
  set(seen "")
  foreach(floor ${ARGN})
    get_property(more GLOBAL PROPERTY HC_SEEN_${floor})
    list(APPEND seen ${more})
  endforeach()
  list(REMOVE_DUPLICATES seen)
  set(${out} ${seen} PARENT_SCOPE)
endfunction()
hc_floors(HC_KERNELS kernels reference comm tensor_file)
list(APPEND HC_KERNELS ${HC_BUILD})
hc_floors(HC_TRAIN train)
list(APPEND HC_TRAIN ${HC_KERNELS})
hc_floors(HC_CASES cases)
list(APPEND HC_CASES ${HC_KERNELS} definitions) # whose texts are references
hc_floors(HC_ALL cli)
list(APPEND HC_ALL ${HC_CASES} ${page} definitions) # which scripts.cmake puts into the program
foreach(all HC_TRAIN HC_CASES HC_ALL)
  list(REMOVE_DUPLICATES ${all})
endforeach()
function(hc_if_changed out name)
  set(prefix "")
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=")
    set(prefix sanitizers.)
  endif()
  set(command ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/.ci/if-changed ${prefix}${name} ${ARGN}
      ${HC_BUILT_WITH} --)
  if(CMAKE_C_FLAGS MATCHES "--coverage" OR NOT HC_PYTHON)
    set(command "")
  endif()
  set(${out} ${command} PARENT_SCOPE)
endfunction()

# hc_seen_by(OUT NAME): the folders that the Criterion test NAME sees: its floor, the floors below,
# and what its headers are of. What is on other floors is not linked with it. .ci/if-changed refuses a test that includes, reads or runs more.
function(hc_seen_by out name)
  set(seen ${HC_CASES})
  set(starts_programs kernels.cuda.standin.standin_test cases.fixture.bug_rows_test)
  if(name MATCHES "^src\\.cli" OR name IN_LIST starts_programs)
    set(seen ${HC_ALL})
  elseif(name MATCHES "^src\\.(num|op|unit|tensor_file|formula)\\.")
    hc_floors(seen ${CMAKE_MATCH_1})
    list(APPEND seen ${HC_BUILD})
  elseif(name MATCHES "^src\\.define\\.")
    hc_floors(seen define check)
    list(APPEND seen definitions ${HC_BUILD})
  elseif(name MATCHES "^reference\\.")
    hc_floors(seen reference)
    list(APPEND seen ${HC_BUILD})
  elseif(name MATCHES "^src\\.train|^kernels\\.cuda\\.plans")
    set(seen ${HC_TRAIN})
  elseif(name MATCHES "^src\\.comm\\.|^kernels\\.(element|exact|host|sim)\\.")
    set(seen ${HC_KERNELS})
  endif()
  if(name MATCHES "src\\.check\\.bound\\.field")
    list(APPEND seen reports/measured/field-algorithms.txt)
  endif()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

# The tests of Criterion that take more than about two seconds of a processor, here or under the
# sanitizers. All others are run each time.
set(HC_LONG cases.constant_test cases.fixture.bug_formula_test cases.fixture.bug_rows_test
    cases.free_order_test cases.idle_test cases.partial_test cases.plays_test
    cases.rounding.power_test kernels.cuda.emulate.fault_test kernels.cuda.library.claimed_test
    kernels.cuda.library.dnn_norm_test kernels.cuda.op.norm_test kernels.cuda.plans.plans_test
    kernels.cuda.shadow.mutants_test kernels.cuda.standin.standin_test
    kernels.element.scale_rule_test kernels.exact.optimizer_test kernels.exact.quant_test
    kernels.host.elementwise_test kernels.host.norm_test kernels.host.onednn.onednn_test
    kernels.host.optimizer_test kernels.host.quant.quant_gemm_test
    kernels.host.quant.quant_test
    kernels.sim.engine_test reference.unit.definition_test src.check.bound.all_reduce_test
    src.check.bound.any_order_test src.check.bound.field_test src.check.fingerprint.backends_test
    src.check.fingerprint.claims_test src.check.fingerprint.fingerprint_test
    src.check.fingerprint.use_test src.check.generate.bit_cases_test
    src.check.generate.border_test src.check.generate.op_cases_test src.check.judge.judge_test
    src.check.judge.probable_test src.check.sample_test src.check.selftest.cheat_state_test
    src.check.selftest.cheat_writes_test src.check.sweep.sweep_judged_test
    src.check.sweep.sweep_pairs_test src.check.workers_test
    src.cli.cast.mistakes_test src.cli.commands.explain_test src.cli.find.find_test
    src.cli.scale.diagnosis_test src.cli.statistics.power_test
    src.cli.statistics.sequential_test src.comm.threads_test
    src.define.gradient.adjoint_test src.formula.evaluate_test src.num.bits_test src.num.format_test
    src.num.integer16_test
    src.tensor_file.safetensors_test src.train.drift.drift_gpt_test
    src.train.drift.drift_rounding_test
    src.train.drift.drift_shapley_test src.train.drift.drift_test src.train.net.net_test
    src.train.run.allocation_test src.train.run.dump_test src.train.run.load_test
    src.train.run.ranks_faults_test src.train.run.ranks_test src.train.run.recipes_train_test
    src.train.run.resume_test src.train.run.trainer_test)
