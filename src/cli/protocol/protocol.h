/* A protocol fixes the question of a comparison, and when it ends, before there are data.

   Whoever chooses the margin, the number of seeds or the comparison after seeing results can show
   anything. So the question, the network, the schedule, the margin, the stopping rule and what each
   recipe is expected to do are in a file that is committed first. `halfcheck compare --protocol`
   trains what the file asks for, and no more, and `halfcheck gate --protocol` judges a record by
   it.

   The file has a line for each setting, its name first; # begins a comment.

     question  Does loss scaling cost accuracy?
     data      cifar10               or: synthetic IMAGES, training images of each class;
                                     or: text, the synthetic text, for a GPT
     classes   all                   or: airplane,dog
     network   darknet16
     epochs    10
     batch     128
     lr        0.008
     set       weight_decay=0.1      in every recipe; may be repeated
     measure   100                   steps between those whose lost bits are measured
     backend   host
     seed      1                     of the first pair; each further pair has the next one
     margin    0.5                   the difference, in points of accuracy, that does not matter
     level     0.05                  of each of the two one-sided tests, over all looks together
     power     0.8                   to be had for no difference, if the spread is that:
     spread    0.3                   of the difference of a pair, as expected before the data
     looks     4 6 8 10 12 16        pairs after which it is tested; the last is the most
     reach     90                    accuracy that the base must reach; may be missing
     base      fp32
     arm       NAME RECIPE CLAIM PAIRS WORDS...
     then

   An arm is a recipe that is compared with the base. CLAIM is one of

     equivalent   it is to be shown equivalent to the base
     worse        it is to learn, and to be shown worse than the base: an arm that must fail
     lost         none of its runs is to learn: another arm that must fail
     open         nothing is claimed; the result is printed

   PAIRS is how many pairs it gets at most, or - for those of the last look. WORDS are what the
   conclusion calls it: "static loss scaling costs no accuracy that matters". The arms above a line
   `then` are trained until each has decided or has its pairs, those below it afterwards. */
#ifndef HC_CLI_PROTOCOL_PROTOCOL_H
#define HC_CLI_PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/statistics/sequential.h"
#include "op/status.h"

enum hc_claim { HC_CLAIM_EQUIVALENT, HC_CLAIM_WORSE, HC_CLAIM_LOST, HC_CLAIM_OPEN, HC_CLAIMS };
extern const char *const hc_claim_names[HC_CLAIMS];

enum { HC_MAX_ARMS = 32, HC_PROTOCOL_TEXT = 256, HC_PROTOCOL_RECIPE = 128 };

struct hc_protocol_arm {
    char name[32]; /* letters, digits and dashes */
    char recipe[HC_PROTOCOL_RECIPE];
    char words[HC_PROTOCOL_TEXT];
    enum hc_claim claim;
    int pairs; /* at most */
    int stage; /* 0.. */
};

struct hc_protocol {
    char question[HC_PROTOCOL_TEXT];
    bool text; /* the made one */
    bool synthetic;
    int images;                     /* of the synthetic set, of each class */
    char classes[HC_PROTOCOL_TEXT]; /* "": all */
    char network[HC_PROTOCOL_TEXT];
    int epochs;
    int batch;
    double lr;
    int measure;
    char backend[HC_PROTOCOL_TEXT];
    uint64_t seed;
    double margin;
    double power;
    double spread;
    double reach; /* percent; 0: nothing is asked */
    struct hc_sequential plan;
    char base[HC_PROTOCOL_RECIPE];
    struct hc_protocol_arm arm[HC_MAX_ARMS];
    int arms;
    int stages;
    char set[HC_MAX_WORDS][HC_PROTOCOL_TEXT];
    int sets;
};

/* Reads a file. HC_IO; HC_INVALID, with a line that names file and line: a name that there is not,
   one that is there twice or is missing, a value out of its range. Recipes and networks are looked
   up by those who train. */
enum hc_status hc_protocol_read(const char *path, struct hc_protocol *protocol);

/* The same of a text; `path` is what messages call it. */
enum hc_status hc_protocol_parse(const char *path, const char *text, struct hc_protocol *protocol);

/* The plan that an arm stops by: if it gets fewer pairs than the protocol's last look, the looks
   before those, and one at the end, over which the level is spent; without looks if it gets one. */
struct hc_sequential hc_protocol_plan(const struct hc_protocol *protocol, int arm);

#endif
