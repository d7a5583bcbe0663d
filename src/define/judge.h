/* The judge of results that somebody else computed, by a definition: each element that is looked at
   must be the rounding of some number within the radius of its real value (define/value.h). Where
   all of these round to one number, that number is demanded. */
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
    int64_t unbounded; /* of judged: right orders may differ in infinities or NaN there */
    int64_t single;    /* of judged: one result alone is right */
    double median;     /* of the ratios */
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

/* Whether the judge has said too little for a verdict: of nothing, or of fewer elements than those
   that no right order is bound to. */
static inline bool hc_define_says_little(int64_t judged, int64_t unbounded)
{
    return unbounded == judged || unbounded > judged - unbounded;
}

/* One element of a result in `format`, computed in `compute`: fills in error, bound and ratio. */
void hc_define_judge_element(enum hc_format format, enum hc_format compute,
                             struct hc_defined_element *element, bool *single);

#endif
