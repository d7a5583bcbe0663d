/* Which instructions this processor has, as far as nobody hides them.

   What is fast on one machine is absent on the next. So that either can be tried on one machine,
   the variable HALFCHECK_HIDE takes a list of the sets below, such as "amx,avx512fp16": the program
   then goes on as if the processor did not have them, nor what builds on them. */
#ifndef HC_OP_CPU_H
#define HC_OP_CPU_H

#include <stdbool.h>

#include "op/status.h"

enum hc_cpu_set {
    HC_CPU_AVX2,       /* with F16C and FMA */
    HC_CPU_AVX512,     /* F, BW, DQ and VL; the system saves the registers */
    HC_CPU_AVX512VNNI, /* with AVX512 */
    HC_CPU_AVX512BF16, /* the same */
    HC_CPU_AVX512FP16, /* the same */
    HC_CPU_AMX, /* tiles and their bf16 products; the system's leave to use them is not looked at */
    HC_CPU_SETS
};

/* "avx2", "avx512", ... */
extern const char *const hc_cpu_set_names[HC_CPU_SETS];

/* NULL if the set may be used, otherwise why not: "this processor has no AMX for bf16",
   "HALFCHECK_HIDE hides amx". Any thread may ask. */
const char *hc_cpu_lacks(enum hc_cpu_set set);

bool hc_cpu_hides(enum hc_cpu_set set);

/* Whether HALFCHECK_HIDE is a list of sets. HC_INVALID, with a line. */
enum hc_status hc_cpu_check_hidden(void);

/* The most that oneDNN may use while something is hidden, as its variable ONEDNN_MAX_CPU_ISA takes
   it; NULL if nothing is. */
const char *hc_cpu_onednn_most(void);

#endif
