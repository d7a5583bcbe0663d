/* Judges results that another program computed, by a definition. Each element must be the rounding
   of some number within the radius of its real value (define/value.h). If all of these round to one
   number, only that number is right. */
#ifndef HC_DEFINE_JUDGE_H
#define HC_DEFINE_JUDGE_H

#include "define/value.h"

struct hc_defined_element {
    int64_t index;
    struct hc_defined_value value;
    double got;
    double error; /* |got - want| */
    double bound; /* the radius, and half an ulp of the result's format if that is narrower than the
                     one in which is computed */
    double ratio; /* error / bound; above 1 if and only if the element is wrong */
};

struct hc_defined_output {
    enum hc_format format; /* in which the elements are judged */
    int64_t elements;
    int64_t judged;
    int64_t wrong;     /* of judged */
    int64_t unbounded; /* of judged: right orders may differ in infinities or NaN */
    int64_t single;    /* of judged: only one number is right */
    double median;     /* of the ratios */
    double excess; /* the largest error of a right element, divided by the probable limit; NaN if
                          errors are too small to tell */
    struct hc_defined_element worst;
};

enum { HC_DEFINED_SAMPLE = 4096 };

/* Judges the elements of `got`, which has the shape of the definition's tensor: all of them, or a
   sample of HC_DEFINED_SAMPLE, in which the first and the last and those at even distances are. It
   is judged in the format in which it comes; where the text names a format with numbers that this
   cannot hold, in the text's. HC_INVALID if the shape is another, or an element costs too much. */
enum hc_status hc_define_judge(const struct hc_instance *instance, int tensor,
                               const struct hc_tensor *got, bool all,
                               struct hc_defined_output *output);

/* Whether too little was judged for a verdict: nothing, or fewer elements with a bound than
   without. */
static inline bool hc_define_says_little(int64_t judged, int64_t unbounded)
{
    return unbounded == judged || unbounded > judged - unbounded;
}

/* Judges one element of a result in `format`, computed in `compute`: sets error, bound and ratio.
   */
void hc_define_judge_element(enum hc_format format, enum hc_format compute,
                             struct hc_defined_element *element, bool *single);

#endif
