# The pages. Each one with examples is a test, docs.NAME, which is run where something has changed
# that it may see: the program, and the files of the checkout that .ci/docs_examples.py links beside
# it (.ci/if-changed refuses an example that names another one). The test docs looks at all else in
# all pages each time, and complains of examples that have no test here.
file(GLOB pages RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/*.md ${CMAKE_SOURCE_DIR}/docs/*.md ${CMAKE_SOURCE_DIR}/python/*.md)
# What only tests are made of is not seen from a page.
file(GLOB builds RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/*)
list(FILTER builds EXCLUDE REGEX
     "/(audit|costs|criterion|mpi_tests|plans|ptx|robustness|tests|transcripts)\\.cmake$|/test_main\\.c$")
set(tested "")
foreach(page ${pages})
  file(STRINGS ${CMAKE_SOURCE_DIR}/${page} blocks REGEX "^```console")
  if(NOT blocks)
    continue()
  endif()
  string(REGEX REPLACE "^docs/|\\.md$" "" name ${page})
  string(REPLACE "/" "." name docs.${name})
  hc_script(${name} FROM ${HC_ALL} ${page} .ci/docs .ci/docs.py .ci/docs_examples.py
                         ${builds} .ci/docs_pages.py CMakeLists.txt LICENSE docs hc portable python
                         reports reports/measured/xeon-sapphire-rapids-2-cores
                         +numpy +torch +pytest
            COMMAND .ci/docs ${program} --examples ${page})
  list(APPEND tested ${page})
endforeach()
hc_script(docs COMMAND .ci/docs ${program} --look ${tested})
