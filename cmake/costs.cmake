# The longest first, by what they take of a processor, so that no core waits for them at the end. The
# first of them run many programs each, one after the other, and may take long.
set(cost 100)
foreach(test tests.run.selftest notebook python.watch python.watch_views python.like
        python.definitions python.check tests.words.explain
        docs.drift docs.gate docs.does-it-cost-accuracy docs.recipes docs.torch
        cases.constant_test gpu-check ptx-plant torch-scaler tests.report.texts
        cases.idle_test kernels.cuda.shadow.mutants_test tests.run.run
        src.check.selftest.cheat_writes_test cases.free_order_test tests.pipe.loopback
        report-in-a-browser src.check.generate.op_cases_test judge-step-torch step-causes
        planted-python ptx
        shadow real-scalers cases.partial_test
        src.cli.cast.mistakes_test src.check.selftest.cheat_state_test
        src.train.drift.drift_shapley_test mpi-refused src.check.generate.border_test
        tests.training.compare tests.training.resume cuda-headers mpi-lost src.train.run.resume_test
        tests.verify.scale kernels.cuda.standin.standin_test planted-gate torch-gradients
        nccl-mutants tests.verify.differences tests.judge.gpt tests.judge.taken mpi-train
        src.train.run.allocation_test mpi-run tests.verify.cast tests.run.limits
        tests.words.terminal style tests.verify.scaler src.cli.statistics.sequential_test ptx-audit mpi-killed)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
  if(TEST ${test} AND cost GREATER 92)
    set_tests_properties(${test} PROPERTIES TIMEOUT 1500)
  endif()
  math(EXPR cost "${cost} - 1")
endforeach()
