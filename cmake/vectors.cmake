# Some files are compiled for one instruction set. Which of them run is decided at run time.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  set_source_files_properties(kernels/host/loops_avx2.c PROPERTIES COMPILE_OPTIONS "-O3;${avx2}")
  set_source_files_properties(kernels/host/loops_avx512.c PROPERTIES COMPILE_OPTIONS "-O3;${avx512}")
  file(GLOB sim CONFIGURE_DEPENDS kernels/sim/*_avx512.c)
  set_source_files_properties(${sim} PROPERTIES COMPILE_OPTIONS "-O3;${avx512}")
  set_source_files_properties(kernels/host/native/pack16.c kernels/host/native/patches16.c PROPERTIES
    COMPILE_OPTIONS "-O3;${avx512}")
  set_source_files_properties(kernels/host/native/product16.c PROPERTIES
    COMPILE_OPTIONS "-O3;${avx512};-mavx512bf16;-mamx-tile;-mamx-bf16")
  set_source_files_properties(kernels/avx512fp16/arithmetic.c kernels/avx512fp16/cast.c PROPERTIES
    COMPILE_OPTIONS "-mavx512fp16;-mavx512vl;-mavx512bw;-mavx512dq")
  include(CheckCCompilerFlag)
  check_c_compiler_flag("-mavx512bf16 -mavx512vl -mavx512bw" HC_COMPILES_AVX512BF16)
  if(HC_COMPILES_AVX512BF16)
    set_source_files_properties(kernels/avx512bf16/products.c kernels/avx512bf16/cast.c PROPERTIES
      COMPILE_OPTIONS "-mavx512bf16;-mavx512vl;-mavx512bw")
    set_source_files_properties(kernels/avx512bf16/backend.c PROPERTIES COMPILE_DEFINITIONS HC_AVX512BF16)
  endif()
  check_c_compiler_flag("-mamx-tile -mamx-bf16" HC_COMPILES_AMX)
  if(HC_COMPILES_AMX)
    set_source_files_properties(kernels/amx/products.c PROPERTIES COMPILE_OPTIONS "-mamx-tile;-mamx-bf16")
    set_source_files_properties(kernels/amx/backend.c kernels/amx/products.c PROPERTIES
      COMPILE_DEFINITIONS HC_AMX)
  endif()
endif()
set_source_files_properties(kernels/host/loops_portable.c kernels/host/quant/codes_tile.c
  kernels/host/quant/codes_bytes.c kernels/host/quant/quant_gemm.c src/num/rng.c
  PROPERTIES COMPILE_OPTIONS "-O3")
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  # Clang warns of each loop that it leaves scalar. The bits are the same.
  set_property(SOURCE kernels/host/loops_portable.c kernels/host/loops_avx2.c
               kernels/host/loops_avx512.c src/check/sweep/sweep_proof.c APPEND PROPERTY COMPILE_OPTIONS -Wno-pass-failed)
endif()
