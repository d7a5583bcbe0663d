/* Two sets of runs of one recipe: is what the second set reaches as good as what the first did?

   Accuracies are compared by two one-sided tests (cli/statistics/equivalence.h), in pairs if three
   or more seeds are in both sets, otherwise by Welch's test. The interval [low, high] of the
   mean difference, new less old, says

     -margin < low, high < margin    equivalent
     -margin < low, margin <= high   not worse; better if 0 < low
     low <= -margin, high < 0        worse: shown to be lower, and not shown to be within the margin
     low <= -margin, 0 <= high       not shown: more seeds are needed

   so that runs whose true mean is lower by the margin or more pass with a probability of 5 % at
   most. Runs whose accuracy and losses are equal in every seed that is in both sets are identical,
   which needs no statistics, nor more than one seed. Runs that did not learn have no part in this:
   each of them is a failure of its own.

   Epochs to a target: the first epoch at whose end the accuracy is the target's or more; a run that
   never comes there counts as one epoch more than it had. They are whole numbers, whose grain is 1,
   and are compared in the same way, but by asking for a difference: longer is shown if the interval
   lies above 0. */
#ifndef HC_CLI_GATE_TRAINING_RUNS_H
#define HC_CLI_GATE_TRAINING_RUNS_H

#include "check/record/outcomes.h"
#include "cli/gate/gate.h"
#include "cli/statistics/equivalence.h"

enum hc_training_answer {
    HC_TRAINS_IDENTICAL,
    HC_TRAINS_EQUIVALENT,
    HC_TRAINS_BETTER,
    HC_TRAINS_NOT_WORSE,
    HC_TRAINS_WORSE,
    HC_TRAINS_NOT_SHOWN,
    HC_TRAINS_TOO_FEW /* fewer than HC_LEAST_SEEDS that learned on a side */
};

enum { HC_LEAST_SEEDS = 3 };

/* Runs of one recipe on one backend, by seed. */
struct hc_training_set {
    const struct hc_outcome *runs;
    int count;
};

struct hc_training_question {
    struct hc_training_set was;
    struct hc_training_set is;
    double margin;       /* in points of accuracy */
    double level;        /* of each of the two tests; 0: 5 % */
    double target;       /* accuracy in percent; 0: the median of the old final ones, less margin */
    double epochs_level; /* of the test for epochs; 0: 5 % */
};

struct hc_training_verdict {
    enum hc_training_answer answer;
    int was; /* runs that learned */
    int is;
    int pairs;                     /* seeds that learned in both */
    struct hc_difference accuracy; /* in points; NaN where there are too few */
    double target;                 /* in percent; NaN: no old run learned */
    struct hc_difference epochs;
    double epochs_was; /* means */
    double epochs_is;
    bool slower; /* shown */
    bool faster;
};

/* HC_NO_MEMORY. */
enum hc_status hc_training_judge(const struct hc_training_question *question,
                                 struct hc_training_verdict *verdict);

/* The seeds that would show the margin with 80 % power if there is no difference, by the spread
   that these runs have: of the differences of pairs, or of all runs. */
struct hc_training_plan {
    int needed;   /* 0: not known, because no two runs of a set learned */
    int range[2]; /* the same at the ends of the spread's 90 % interval */
    bool paired;
    double level;     /* of each of the two tests; 0: 5 % */
    double deviation; /* of one difference if paired, otherwise of one run; NaN: not known */
    double freedom;   /* of that */
};
enum hc_status hc_training_plan(const struct hc_training_question *question,
                                struct hc_training_plan *plan);

/* Sets `needed` and `range` from the other members. */
void hc_training_plan_runs(double margin, double grain, struct hc_training_plan *plan);

/* Finds claims whose names begin like that and whose numbers are compared elsewhere: those that
   fail now, and did not fail before, are worse. */
void hc_gate_find_failures(struct hc_gate *gate, const char *prefix);

/* What the runs show, in words: "-0.31 points, 90 % interval -0.66 .. +0.04 (5 pairs), margin
   0.5". */
enum { HC_TRAINING_TEXT = 480 };

#endif
