# The tests that plan by the real cuDNN. The sanitizers see that in refusals_test; planning for all
# devices takes them a quarter of a minute.
if(TEST kernels.cuda.plans.plans_test)
  set_tests_properties(kernels.cuda.plans.plans_test PROPERTIES LABELS all-cases)
endif()
