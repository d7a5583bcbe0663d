/* What a record was measured with. */
#ifndef HC_CHECK_ENVIRONMENT_H
#define HC_CHECK_ENVIRONMENT_H

#include <jansson.h>

/* A new object: date, halfcheck, commit, compiler, flags, os, cpu, cores, gpu, driver, cuda, cudnn,
   onednn, mpfr. What this machine or this build does not have is null. */
json_t *hc_environment(void);

#endif
