/* What a record was measured with. */
#ifndef HC_CHECK_RECORD_ENVIRONMENT_H
#define HC_CHECK_RECORD_ENVIRONMENT_H

#include <jansson.h>

/* A new object: date, halfcheck, commit, compiler, flags, os, cpu, cores, gpu, capability, driver,
   cuda, cublas, cudnn, onednn, mpfr. What this machine or this build does not have is null; of the GPU
   and its libraries the backends that were used tell more (check/record/facts.h). */
json_t *hc_environment(void);

#endif
