# Every foo_test.c is a Criterion program of its own, linked with everything; and .ci/style.
include(CTest)
find_library(CRITERION_LIBRARY criterion)
if(BUILD_TESTING AND NOT CRITERION_LIBRARY)
  message(STATUS "Criterion not found: no tests")
endif()
if(BUILD_TESTING AND CRITERION_LIBRARY)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       src/*_test.c benches/*_test.c reference/*_test.c kernels/*_test.c cases/*_test.c)
  foreach(test ${tests})
    string(REGEX REPLACE "\\.c$" "" name ${test})
    string(REPLACE "/" "." name ${name})
    add_executable(${name} ${test})
    target_link_libraries(${name} PRIVATE hc_cli ${CRITERION_LIBRARY})
    target_compile_definitions(${name} PRIVATE HC_PROGRAM="$<TARGET_FILE:halfcheck>"
                               HC_SOURCE="${CMAKE_SOURCE_DIR}")
    # A test beside a kernel or a reference may look at its floor's own headers.
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own
                               ${CMAKE_BINARY_DIR}/floors/reference-own)
    add_dependencies(${name} halfcheck)
    # Criterion's macros are the one place where these warnings are not ours.
    target_compile_options(${name} PRIVATE -Wno-missing-prototypes -Wno-conversion
                           -Wno-double-promotion -Wno-shadow)
    add_test(NAME ${name} COMMAND ${name})
  endforeach()
endif()
find_program(CLANG_FORMAT clang-format)
if(BUILD_TESTING AND CLANG_FORMAT)
  add_test(NAME style COMMAND ${CMAKE_SOURCE_DIR}/.ci/style)
endif()
