/* Who catches what: the arms of bugs, judged by each rule. */
#ifndef HC_CLI_CATCHES_CATCHES_H
#define HC_CLI_CATCHES_CATCHES_H

#include "cases/fixture/bug.h"
#include "cli/catches/rules.h"

/* A bug as all rules judge it. */
struct hc_catch {
    const char *name; /* of the case; belongs to the caller */
    bool control;     /* a negative control: both arms are right */
    bool play;        /* the real number and the bound are the play's own */
    bool frozen;      /* it was written down before its bound was known */
    bool no_bound;    /* the row says that no bound tells its arms apart */
    struct hc_bug_figures figures;
    bool has_half;
    bool half_is_nan;   /* in a value that is shown, */
    bool buggy_is_half; /* the buggy arm shows what the half implementation does */
    int shown;
    enum hc_judgement buggy[HC_CATCH_RULES];
    enum hc_judgement fixed[HC_CATCH_RULES];
};

/* Judges a table. `bug` is NULL where the case is not known to this program: then there is no half
   implementation. HC_INVALID or HC_NO_MEMORY with a message. */
enum hc_status hc_catch_judge(const char *name, const struct hc_bug *bug,
                              const struct hc_exhibits *shown, struct hc_catch *row);

/* What a rule makes of both arms, in a word: "caught" (it refuses the buggy arm alone), "missed",
   "alarm" (it refuses an arm that is right), "both" (it misses the buggy arm and refuses the fixed
   one), "right" (it accepts both arms of a negative control), "-" (it is not applied). */
const char *hc_catch_word(const struct hc_catch *row, int rule);

struct hc_catch_counts {
    int bugs;   /* with a buggy arm that shows the bug, where the rule is applied */
    int missed; /* of these */
    int apart;  /* of these: the buggy arm is refused, and the fixed one accepted */
    int right;  /* arms that are right: fixed ones, and buggy ones of negative controls */
    int alarms; /* of these */
    int not_applied;
};

struct hc_catch_counts hc_catch_count(const struct hc_catch *rows, int count, int rule);

/* The same of those rows alone that were frozen before their bound was known. */
struct hc_catch_counts hc_catch_count_frozen(const struct hc_catch *rows, int count, int rule);

/* Sorts by name, those that halfcheck's own rule misses, or gets wrong, first. */
void hc_catch_sort(struct hc_catch *rows, int count);

/* Whether halfcheck's own rule misses the bug or gives a false alarm. */
bool hc_catch_is_wrong(const struct hc_catch *row);

#endif
