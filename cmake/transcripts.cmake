# Every tests/FOLDER/NAME.txt is a test: commands and what they print. tests/run.py says how they
# are written.
find_program(HC_PYTHON python3 HINTS /usr/bin)
if(BUILD_TESTING AND HC_PYTHON)
  file(GLOB transcripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests tests/*/*.txt)
  foreach(transcript ${transcripts})
    string(REGEX REPLACE "\\.txt$" "" name ${transcript})
    string(REPLACE "/" "." name tests.${name})
    add_test(NAME ${name} COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/tests/run.py
                                  $<TARGET_FILE:halfcheck> ${CMAKE_SOURCE_DIR}/tests/${transcript})
    # These look at words on paths through memory that others take under the sanitizers
    # (tests.cmake).
    if(name MATCHES "^tests\\.(calc\\.|words\\.|verify\\.differences$)")
      set_tests_properties(${name} PROPERTIES LABELS words)
    elseif(name MATCHES "^tests\\.run\\.(bench|selftest)$")
      set_tests_properties(${name} PROPERTIES LABELS all-cases)
    endif()
  endforeach()
  add_test(NAME tests.runner COMMAND ${HC_PYTHON} -B ${CMAKE_SOURCE_DIR}/tests/run_test.py)
  set_tests_properties(tests.runner PROPERTIES LABELS words)
endif()
