# A library that lets requests to the system fail, and the test that walks through them. It knows the
# registers of x86-64 under Linux. Under a sanitizer the test is run by hand (docs/robustness.md).
if(BUILD_TESTING AND CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  file(GLOB inject CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/inject/*.c)
  add_library(inject MODULE ${inject})
  set_target_properties(inject PROPERTIES C_EXTENSIONS ON)
  target_compile_options(inject PRIVATE -fno-sanitize=all -Wno-missing-prototypes)
  target_link_options(inject PRIVATE -fno-sanitize=all)
  target_link_libraries(inject PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME faults COMMAND ${CMAKE_SOURCE_DIR}/fuzz/faults.py $<TARGET_FILE:halfcheck>
                               $<TARGET_FILE:inject> --most 2 --kinds memory,write
                               --commands run,worse,merge,report,train,calc,keep,verify,recipes,vectors,miscast,misscale)
  add_test(NAME faults-read COMMAND ${CMAKE_SOURCE_DIR}/fuzz/faults.py $<TARGET_FILE:halfcheck>
                                    $<TARGET_FILE:inject> --most 4 --kinds read
                                    --commands cast,scale)
endif()

# What takes text from outside, as targets of fuzzing. fuzz-replay runs them over the corpus; with
# HC_FUZZ (preset fuzz, which needs clang) the program `fuzz` has libFuzzer behind them.
option(HC_FUZZ "build the program fuzz, with libFuzzer" OFF)
if(BUILD_TESTING OR HC_FUZZ)
  file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/targets/*.c)
  add_library(hc_fuzz STATIC fuzz/fuzz.c ${targets})
  target_include_directories(hc_fuzz PUBLIC fuzz PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
  target_link_libraries(hc_fuzz PUBLIC hc_cli)
  hc_registry(fuzz hc_fuzz "const struct hc_fuzz_target" fuzz/targets *.c)
  add_executable(fuzz-replay fuzz/replay.c)
  target_link_libraries(fuzz-replay PRIVATE hc_fuzz)
endif()
if(BUILD_TESTING)
  add_test(NAME fuzz-corpus COMMAND fuzz-replay ${CMAKE_SOURCE_DIR}/fuzz/corpus 20)
endif()
if(HC_FUZZ)
  add_executable(fuzz fuzz/libfuzzer.c)
  target_link_libraries(fuzz PRIVATE hc_fuzz)
  target_link_options(fuzz PRIVATE -fsanitize=fuzzer)
endif()
