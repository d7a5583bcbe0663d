/* What backends tell of themselves (the slot `describe`), in a record:
     "backends": {"cuda": {"gpu": "...", "cudnn": "9.1.0", ...}, ...}
   What they tell of the machine stands in its environment, too: gpu, capability, driver, cuda, cublas,
   cudnn. */
#ifndef HC_CHECK_RECORD_FACTS_H
#define HC_CHECK_RECORD_FACTS_H

#include <jansson.h>

#include "backend.h"

/* Puts a fact into the object `facts`. */
void hc_facts_add(const char *name, const char *fact, void *facts);

/* Puts the backend's facts into the record; the reference to `facts` is taken. No facts, nothing. */
void hc_record_set_facts(json_t *record, const char *backend, json_t *facts);

/* Asks a backend that is available and puts its facts into the record; `queue` may be NULL. */
void hc_record_describe(json_t *record, const struct hc_backend *backend, struct hc_queue *queue);

/* What is wrong with a record's "backends" (which may be NULL), or NULL. */
const char *hc_facts_wrong(const json_t *backends);

#endif
