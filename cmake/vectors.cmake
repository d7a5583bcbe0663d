# Some files are compiled for one instruction set. Which of them run is decided at run time.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  set_source_files_properties(kernels/host/loops_avx2.c PROPERTIES COMPILE_OPTIONS "-O3;${avx2}")
  set_source_files_properties(kernels/host/loops_avx512.c PROPERTIES COMPILE_OPTIONS "-O3;${avx512}")
  set_source_files_properties(kernels/avx512fp16/arithmetic.c kernels/avx512fp16/cast.c PROPERTIES
    COMPILE_OPTIONS "-mavx512fp16;-mavx512vl;-mavx512bw;-mavx512dq")
endif()
set_source_files_properties(kernels/host/loops_portable.c PROPERTIES COMPILE_OPTIONS "-O3")
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  # Clang warns of each loop that it leaves scalar. The bits are the same.
  set_property(SOURCE kernels/host/loops_portable.c kernels/host/loops_avx2.c
               kernels/host/loops_avx512.c src/check/sweep/sweep_proof.c APPEND PROPERTY COMPILE_OPTIONS -Wno-pass-failed)
endif()
