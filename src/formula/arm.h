/* An arm: the formats in which a formula is evaluated.

   As text: FORMAT[/STORAGE][ NAME=FORMAT...], such as "fp16", "fp32/fp16" or "fp16 acc=fp32". */
#ifndef HC_FORMULA_ARM_H
#define HC_FORMULA_ARM_H

#include <stdbool.h>

#include "num/format.h"
#include "op/status.h"

enum { HC_MAX_ARM_CASTS = 6, HC_LONGEST_ARM = 63, HC_LONGEST_CAST = 15 };

struct hc_arm {
    char text[HC_LONGEST_ARM + 1];
    enum hc_format arithmetic; /* fp64, fp32, bf16 or fp16 */
    enum hc_format storage; /* every value that is assigned is rounded to it; = arithmetic: none */
    int casts;              /* names of casts that mean a format of this arm's */
    struct {
        char name[HC_LONGEST_CAST + 1];
        enum hc_format format;
    } cast[HC_MAX_ARM_CASTS];
};

/* Reads the text. HC_INVALID with a message that names what is wrong in it. */
enum hc_status hc_arm_read(const char *text, struct hc_arm *arm);

#endif
