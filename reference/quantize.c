/* placeholder */
#include <math.h>

#include "reference.h"

hc_reference hc_reference_quantize;
void hc_reference_quantize(const struct hc_element *e, long precision, struct hc_exact *want)
{
    (void)e;
    (void)precision;
    *want = (struct hc_exact){(double)NAN, 0, 0};
}

hc_reference hc_reference_dequantize;
void hc_reference_dequantize(const struct hc_element *e, long precision, struct hc_exact *want)
{
    hc_reference_quantize(e, precision, want);
}

hc_reference hc_reference_delayed_scale;
void hc_reference_delayed_scale(const struct hc_element *e, long precision, struct hc_exact *want)
{
    hc_reference_quantize(e, precision, want);
}
