# Every tests/FOLDER/NAME.txt is a test: commands and what they print. tests/run.py says how they
# are written.
find_program(HC_PYTHON python3 HINTS /usr/bin)
if(BUILD_TESTING AND HC_PYTHON)
  file(GLOB transcripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests tests/*/*.txt)
  # These are run where something has changed that they depend on (changed.cmake).
  set(long "gate\\.(bits|fingerprint|gate|protocol|records|trainings)|judge\\.(gpt|taken)|pipe\\..*|calc\\.museum|report\\..*|run\\.(bench|limits|merge|plugin|nan|outside|run|selftest)|training\\.(compare|files|resume|study)|verify\\..*|words\\.(explain|fingerprint|terminal)")
  foreach(transcript ${transcripts})
    string(REGEX REPLACE "\\.txt$" "" name ${transcript})
    string(REPLACE "/" "." name tests.${name})
    set(unchanged "")
    if(name MATCHES "^tests\\.(${long})$")
      file(READ ${CMAKE_SOURCE_DIR}/tests/${transcript} read)
      string(REGEX MATCHALL "[$]SOURCE/[A-Za-z0-9_./-]+" read "${read}")
      list(TRANSFORM read REPLACE "^.SOURCE/" "")
      hc_if_changed(unchanged ${name} ${HC_ALL} tests/run.py tests/tools tests/${transcript}
                    .ci/docs_pages.py .ci/docs_examples.py ${read})
    endif()
    add_test(NAME ${name} COMMAND ${unchanged} ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/tests/run.py
                                  $<TARGET_FILE:halfcheck> ${CMAKE_SOURCE_DIR}/tests/${transcript})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    # These look at words on paths through memory that others take under the sanitizers
    # (criterion.cmake).
    if(name MATCHES "^tests\\.(calc\\.|report\\.|words\\.|verify\\.(differences|wrong)$)")
      set_tests_properties(${name} PROPERTIES LABELS words)
    elseif(name STREQUAL "tests.judge.gpt")
      # A GPT's right steps are judged in tests/training/gpt.txt, too.
      set_tests_properties(${name} PROPERTIES LABELS numbers)
    elseif(name MATCHES "^tests\\.(pipe\\.loopback|run\\.(bench|selftest))$")
      set_tests_properties(${name} PROPERTIES LABELS all-cases)
    endif()
  endforeach()
  add_test(NAME tests.runner COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/tests/run_test.py)
  set_tests_properties(tests.runner PROPERTIES LABELS words)
endif()
