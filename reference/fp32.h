/* One operation of fp32 arithmetic at a time: the real result, rounded once. */
#ifndef HC_REFERENCE_FP32_H
#define HC_REFERENCE_FP32_H

double hc_fp32_quotient(double x, double y);
double hc_fp32_product(double x, double y);

/* log2 x rounded to nearest in fp32; x is positive. */
double hc_fp32_log2(double x);

#endif
