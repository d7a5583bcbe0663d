/* The qualifier of arithmetic in headers, whose bodies serve C, C++ and CUDA device code. */
#ifndef HC_NUM_INLINE_H
#define HC_NUM_INLINE_H

#ifdef __CUDACC__
#define HC_INLINE static inline __host__ __device__
#else
#define HC_INLINE static inline
#endif

#endif
