/* The order in which the products of a sum meet. */
#ifndef HC_CHECK_FINGERPRINT_STRUCTURE_H
#define HC_CHECK_FINGERPRINT_STRUCTURE_H

#include "check/fingerprint/probe.h"

/* Sets order, piece and c of the findings. They stay unknown where no rule explains every sum. The
   status of a call. */
enum hc_status hc_find_structure(struct hc_probe *probe, struct hc_findings_of_shape *found);

/* Places of products that meet before others do: those of one piece, where a piece has as many. */
void hc_structure_places(const struct hc_findings_of_shape *found, int place[4]);

/* A product that swallows all small ones, and the small ones. */
void hc_probe_huge(struct hc_probe *probe, int k, int sign);
void hc_probe_one(struct hc_probe *probe, int k);
double hc_probe_one_value(const struct hc_probe *probe);
double hc_probe_huge_value(const struct hc_probe *probe);

#endif
