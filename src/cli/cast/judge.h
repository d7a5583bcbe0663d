/* What answers to the inputs of a plan show: whether each is right, which mistakes would have
   shown, and which explain the wrong ones. */
#ifndef HC_CLI_CAST_JUDGE_H
#define HC_CLI_CAST_JUDGE_H

#include "cli/cast/plan.h"

/* Wrong conversions: the mistakes that are made. Each is a function from an input to the code that
   a conversion with that mistake gives. Where a mistake makes no difference, as saturation does in
   a format that always saturates, it gives the right code. */

struct hc_cast_mistake {
    const char *what; /* a sentence without its beginning capital and its full stop */
    uint32_t (*code)(const struct hc_cast_plan *plan, int how, uint32_t input, double x);
    int how;
};

enum { HC_CAST_MAX_MISTAKES = 64 };
extern const struct hc_cast_mistake hc_cast_mistakes[];
extern const int hc_cast_mistake_count;

uint32_t hc_cast_mistaken(const struct hc_cast_plan *plan, int mistake, uint32_t input);

/* Wrong answers whose explanations are kept. */
enum { HC_CAST_KEPT = 1 << 16 };

struct hc_cast_judge {
    struct hc_cast_plan plan;
    long long answers; /* that were judged */
    long long unjudged;
    long long wrong;
    uint64_t possible; /* a bit for each mistake that some input can show */
    uint64_t shown;    /* that some input so far does show */
    uint64_t alone;    /* that explains every answer so far, right or wrong */
    uint64_t within;   /* that gives every right answer so far */
    long long explains[HC_CAST_MAX_MISTAKES]; /* wrong answers */
    uint64_t *kept;                           /* of each wrong answer, the mistakes that give it */
};

/* False without memory. */
bool hc_cast_judge_open(struct hc_cast_judge *judge, const struct hc_cast_plan *plan);
void hc_cast_judge_close(struct hc_cast_judge *judge);

/* Takes the next answer, and returns whether it is right or not judged. */
bool hc_cast_judge_add(struct hc_cast_judge *judge, uint32_t input, uint32_t code);

/* Prints lines that say what explains the wrong answers, or nothing. */
void hc_cast_judge_explain(const struct hc_cast_judge *judge);

#endif
