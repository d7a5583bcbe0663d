/* The trainings of two records: a recipe trains as well as it did, or not, or that is not known. */
#ifndef HC_CLI_GATE_GATE_TRAINING_H
#define HC_CLI_GATE_GATE_TRAINING_H

#include "cli/gate/gate.h"
#include "cli/gate/training_runs.h"

/* For records that both have trainings. Each recipe and backend is compared as a whole, named
   "train/<recipe>" in findings; a run that did not learn is a finding of its own,
   "train/<recipe>-seed<n>", and so is a comparison that turned to FAIL ("compare/..."). Recipes
   that were trained otherwise (data, network, epochs, batch, rate) cannot be compared. */
extern const struct hc_gate_way hc_gate_training;

/* Of gate --protocol: sets the gate's margin and level to the protocol's, and judges the record's
   trainings by it: whether they were made as it asks, and what each of its arms claims, by its
   looks. A claim that is wrong is the finding "protocol/ARM", and so is one that is not decided.
   The rows "protocol/..." of the record, in which it judges itself, are not believed.
   HC_IO, HC_INVALID: the file is no protocol. */
enum hc_status hc_gate_by_protocol(struct hc_gate *gate, const struct hc_outcomes *trainings);

/* Whether that protocol's claim is that the run does not learn. */
bool hc_gate_is_to_fail(const struct hc_gate *gate, const struct hc_outcome *run);

/* Claims whose numbers are compared otherwise, whose names begin so: those that fail now, and did
   not, are worse. */
void hc_gate_find_failures(struct hc_gate *gate, const char *prefix);

/* What the runs show, in words: "-0.31 points, 90 % interval -0.66 .. +0.04 (5 pairs), margin
   0.5". */
enum { HC_TRAINING_TEXT = 480 };
void hc_training_say(const struct hc_training_question *question,
                     const struct hc_training_verdict *verdict, char text[HC_TRAINING_TEXT]);

/* How many seeds it takes: "about 14 seeds a side for 0.5 points with 80 % power (6 to 102 by the
   90 % interval of their spread, 0.4)". */
void hc_training_say_plan(double margin, const struct hc_training_plan *plan,
                          char text[HC_TRAINING_TEXT]);

/* "2.2 epochs to 94.38 %, was 2.0", or "". */
void hc_training_say_epochs(const struct hc_training_verdict *verdict, char text[HC_TRAINING_TEXT]);

#endif
