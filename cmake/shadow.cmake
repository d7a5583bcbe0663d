# The device kernels once more, for the backend cuda-shadow: with a call before each access to
# memory (kernels/cuda/shadow/tsan.c). Accesses stay as the source has them: none are merged, and no
# loop becomes a call of memset. There are line numbers in every build, for findings.
file(GLOB device_kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/kernel/*.c)
add_library(hc_shadow_kernels OBJECT ${device_kernels})
target_include_directories(hc_shadow_kernels PRIVATE ${CMAKE_BINARY_DIR}/floors/kernels-own)
target_link_libraries(hc_shadow_kernels PRIVATE hc_interface)
target_compile_definitions(hc_shadow_kernels PRIVATE HC_SHADOW)
target_compile_options(hc_shadow_kernels PRIVATE -fno-sanitize=all -fsanitize=thread -O1 -g1)
if(NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
  message(STATUS "The backend cuda-shadow is unavailable: it wants gcc")
elseif(CMAKE_C_FLAGS MATCHES "--coverage")
  # Counters of gcov are memory that a kernel has nothing to do with.
  target_compile_options(hc_shadow_kernels PRIVATE -fprofile-exclude-files=.*)
endif()
target_sources(hc_kernels PRIVATE $<TARGET_OBJECTS:hc_shadow_kernels>)

set_source_files_properties(kernels/cuda/shadow/shadow_test.c kernels/cuda/shadow/races_test.c
                            PROPERTIES COMPILE_OPTIONS
                            "-fno-sanitize=all;-fsanitize=thread;-g1")
