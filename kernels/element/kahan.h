/* Kahan's summation of a weight's updates. w + c is the weight, of which w holds what its format
   can (Zamirai, Zhang, Aberger, De Sa, Revisiting BFloat16 Training, arXiv 2010.06192, where c has
   the other sign; optimi's adam.py). R rounds into `arithmetic` as in adam.h, W rounds into w's
   format, and u is the update, decay included:

     y = R(c - u);  s = W(R(w + y));  c = R(y - R(s - w));  w = s

   If |y| <= |w| and s is finite, s - w and y - (s - w) are exact (Dekker). */
#ifndef HC_KERNELS_ELEMENT_KAHAN_H
#define HC_KERNELS_ELEMENT_KAHAN_H

#include "kernels/element/round.h"

HC_INLINE void hc_kahan(enum hc_format f, enum hc_format stored, hc_number *w, hc_number *c,
                        hc_number u)
{
    hc_number y = hc_into(f, *c - u);
    hc_number s = hc_into(stored, hc_into(f, *w + y));
    *c = hc_into(f, y - hc_into(f, s - *w));
    *w = s;
}

#endif
