/* What the runs of a study show: an answer for each arm, and the sentences that the question asked
   for. */
#ifndef HC_CLI_PROTOCOL_CONCLUSION_H
#define HC_CLI_PROTOCOL_CONCLUSION_H

#include <stdio.h>

#include "check/check.h"
#include "cli/protocol/study.h"

/* The test images of a pair that one run alone gets right (cli/statistics/significance.h). */
struct hc_pair_images {
    bool known; /* both runs wrote predictions.csv, of the same images */
    long long subject_alone;
    long long base_alone;
    double p;
};

struct hc_arm_answer {
    struct hc_sequential plan; /* that it stops by */
    struct hc_study_pairs pairs;
    struct hc_difference test; /* arm minus base, in points */
    int look;                  /* at which; -1: none yet */
    bool over;                 /* it has decided, or has its pairs */
    enum hc_verdict verdict;   /* on its claim; an open arm's is PASS if its runs learned */
    struct hc_pair_images images[HC_STUDY_SEEDS]; /* of each pair */
    int told_apart; /* pairs whose images tell the networks apart at 5 % */
    int known;      /* pairs whose images are known */
};

struct hc_conclusion {
    const struct hc_study *study;
    double accuracy; /* of the base: mean and deviation over its runs, in percent */
    double deviation;
    int runs;
    bool reached; /* what the protocol asks of the base; true if it asks nothing */
    struct hc_arm_answer arm[HC_MAX_ARMS];
};

/* Draws the conclusion from the runs that were read. */
enum hc_status hc_conclude(const struct hc_study *study, struct hc_conclusion *conclusion);

/* How many claims failed, a base that does not reach what it is to reach among them; and how many
   arms that claim something have not decided. */
int hc_conclusion_failures(const struct hc_conclusion *conclusion);
int hc_conclusion_undecided(const struct hc_conclusion *conclusion);

/* Prints what was asked, a table, and a sentence for each arm. */
void hc_conclusion_print(const struct hc_conclusion *conclusion, FILE *out);

/* The sentence of an arm. */
enum { HC_CONCLUSION_SENTENCE = 640 };
void hc_conclusion_sentence(const struct hc_conclusion *conclusion, int arm,
                            char text[HC_CONCLUSION_SENTENCE]);

/* Writes into the study's folder table.txt, runs.csv, pairs.csv and curves.csv (test accuracy at
   the end of each epoch: mean, least and most over the runs), and record.json with a result
   "protocol/ARM" for each arm that claims something: its error is the mean difference without its
   sign, its bound the margin, both in points. */
enum hc_status hc_conclusion_write(const struct hc_conclusion *conclusion);

/* Draws the picture of the paired differences and the curves, and prints where it is, or why it
   could not be drawn. */
void hc_conclusion_draw(const struct hc_conclusion *conclusion);

#endif
