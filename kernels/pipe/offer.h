/* The parts of a greeting that say what the program can do, and how: its ops with their formats and
   orders, its definitions, its accumulator, its borders. HC_INVALID with a line. */
#ifndef HC_KERNELS_PIPE_OFFER_H
#define HC_KERNELS_PIPE_OFFER_H

#include <jansson.h>

#include "kernels/pipe/greeting.h"

enum hc_status hc_offer_read_ops(struct hc_greeting *greeting, const json_t *value);
enum hc_status hc_offer_read_definitions(struct hc_greeting *greeting, const json_t *value);
enum hc_status hc_offer_read_accumulator(struct hc_greeting *greeting, const json_t *value);
enum hc_status hc_offer_read_borders(struct hc_greeting *greeting, const json_t *value);

#endif
