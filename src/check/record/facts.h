/* What backends say about themselves (the slot `describe`), in a record:
     "backends": {"cuda": {"gpu": "...", "cudnn": "9.1.0", ...}, ...}
   What they say about the machine (gpu, capability, driver, cuda, cublas, cudnn) is copied into the
   record's environment. */
#ifndef HC_CHECK_RECORD_FACTS_H
#define HC_CHECK_RECORD_FACTS_H

#include <jansson.h>

#include "backend.h"

/* Adds a fact to `facts`, which is a JSON object. */
void hc_facts_add(const char *name, const char *fact, void *facts);

/* Sets the facts of a backend in the record, unless they are empty. Takes the reference. */
void hc_record_set_facts(json_t *record, const char *backend, json_t *facts);

/* Asks a backend for its facts, if it is available, and sets them. `queue` may be NULL. */
void hc_record_describe(json_t *record, const struct hc_backend *backend, struct hc_queue *queue);

/* What is wrong with a record's "backends" (which may be NULL), or NULL. */
const char *hc_facts_wrong(const json_t *backends);

#endif
