/* Prints what a backend says of the calls that it ran: engines of libraries, its own loops. */
#ifndef HC_CLI_SAYS_H
#define HC_CLI_SAYS_H

#include "backend.h"

/* For the slot `closing` of a run: a line on standard output for each fact. */
void hc_print_facts(const struct hc_backend *backend, struct hc_queue *queue, void *context);

#endif
