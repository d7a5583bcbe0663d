/* The order in which the products of a sum meet. */
#ifndef HC_CHECK_FINGERPRINT_STRUCTURE_H
#define HC_CHECK_FINGERPRINT_STRUCTURE_H

#include "check/fingerprint/probe.h"

/* Sets order, piece and c of the findings. They stay unknown where no rule explains every sum. The
   status of a call. */
enum hc_status hc_find_structure(struct hc_probe *probe, struct hc_findings_of_shape *found);

/* The terms of the longest sum whose order the format can show: all its small products together are
   lost next to a huge one. */
int hc_structure_most_terms(enum hc_format format);

/* Places of products that meet before others do: those of one piece, where a piece has as many. */
void hc_structure_places(const struct hc_findings_of_shape *found, int place[4]);

/* A product that swallows all small ones. */
void hc_probe_huge(struct hc_probe *probe, int k, int sign);

/* Adds a sum of ones at all places but i and j. After the run, the number of products that are
   added to one of two huge ones before these cancel, with the two; -1 if they did not cancel. */
int hc_probe_ones_but(struct hc_probe *probe, int i, int j);
int hc_probe_under(const struct hc_probe *probe, int sum);

#endif
