/* What a record was measured with. */
#ifndef HC_CHECK_RECORD_ENVIRONMENT_H
#define HC_CHECK_RECORD_ENVIRONMENT_H

#include <jansson.h>

/* The program, its version and, where git was there at build time, its commit, which ends in + if
   files were changed: "halfcheck 0.3.0 (9ce7cd23660b)". */
const char *hc_version(void);

/* The program and its version alone: "halfcheck 0.3.0". */
const char *hc_release(void);

/* A new object: date, halfcheck, commit, compiler, flags, os, cpu, cpu_flags, cores, gpu,
   capability, driver, cuda, cublas, cudnn, gmp, jansson, glibc, onednn, mpfr. A member is null if
   this machine or this build lacks it. The backends that were used say more of the GPU and its
   libraries (check/record/facts.h). A run that takes fingerprints adds "fingerprint", an object of
   texts such as "cuda fp16": "h100wgmma-fp16-fp32; bits 1f3a9c2e". */
json_t *hc_environment(void);

#define HC_FINGERPRINT_MEMBER "fingerprint"

/* What is wrong with the fingerprints of an environment that was read, or NULL. */
const char *hc_environment_wrong(const json_t *environment);

/* The libraries that the program uses: those that were there when it was built, and those that were
   loaded when it began, which a new package of the system may have replaced. */

struct hc_library {
    const char *name;  /* as in records: "mpfr" */
    const char *built; /* the version of its headers; "" if that is not kept */
    char loaded[48];   /* the version that it says itself; "" if it is not loaded or says none */
};

/* All that the program may use, in one order; *n is their number. The optional ones have neither
   version where the program was built without them. */
const struct hc_library *hc_libraries(int *n);

#endif
