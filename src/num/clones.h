/* Loops that are compiled for several processors, the best chosen at run time. The
   results are the same: nothing is contracted or reordered. */
#ifndef HC_NUM_CLONES_H
#define HC_NUM_CLONES_H

/* clang 14 makes global resolvers for static functions, and two of one name collide. */
#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
#define HC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HC_CLONES
#endif

/* The same with all that the loop calls compiled into it. */
#ifdef __clang__
#define HC_FLAT_CLONES
#else
#define HC_FLAT_CLONES HC_CLONES __attribute__((flatten))
#endif

/* What such a loop calls is compiled into each of its versions. */
#define HC_CLONED static inline __attribute__((always_inline))

#endif
