/* Whether a change made anything worse: each result of a baseline is compared with the one of the
   same case and backend now.

   A verdict got worse, an error grew by more than a factor, a bound was raised, fewer elements
   were compared, or the result is gone. Each of these hides an error in its own way, so each is
   a finding of its own kind. Errors are measured by the baseline's bound on both sides: a raised
   bound then hides no growth, and a lowered one shows none. Numbers are compared only if the
   inputs are the same, which takes the same level and seed: random errors of other inputs may be
   a hundred times as large. What cannot be compared is found, too, and fails the gate unless it
   is allowed: an empty comparison must not pass for a good one. */
#ifndef HC_CLI_GATE_GATE_ROWS_H
#define HC_CLI_GATE_GATE_ROWS_H

#include "cli/gate/gate.h"

/* All results that no other way owns. */
extern const struct hc_gate_way hc_gate_rows;

enum { HC_GATE_TEXT = 640 };

/* Adds a finding about this result. */
void hc_gate_find(struct hc_gate *gate, enum hc_finding_kind kind, const struct hc_row *row,
                  double weight, const char *text);

/* Whether both results have the same inputs. Adds a finding for each reason against it. */
bool hc_gate_same_inputs(struct hc_gate *gate, const struct hc_row *was, const struct hc_row *is);

/* Whether the result holds bits alone (hc_row_is_bits) and its run says so: digests beside results
   that were SKIPPED for another reason are no evidence of anything. */
bool hc_gate_is_bits(const struct hc_record *record, const struct hc_row *row);

/* Compares the bits of results with the same inputs; and those of a record that holds bits
   alone. */
void hc_gate_compare_bits(struct hc_gate *gate, const struct hc_row *was, const struct hc_row *is);
void hc_gate_compare_bits_alone(struct hc_gate *gate, const struct hc_row *was,
                                const struct hc_row *is);

/* Compares bits, errors, bounds, units and counts of results that both passed or both failed. */
void hc_gate_compare_numbers(struct hc_gate *gate, const struct hc_row *was,
                             const struct hc_row *is);

#endif
