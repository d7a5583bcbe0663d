#include "num/format.h"

#include <criterion/criterion.h>

#include "num/bits.h"

Test(format, fp16_overflows_to_infinity_from_65520_on)
{
    cr_assert_eq(hc_encode(HC_FP16, 65519, 0, HC_NEAREST), 0x7bff);
    cr_assert_eq(hc_encode(HC_FP16, 65520, 0, HC_NEAREST), 0x7c00);
    cr_assert_eq(hc_encode(HC_FP16, 65520, -1e-12, HC_NEAREST), 0x7bff);
}

Test(format, every_fp16_code_survives_decoding_and_encoding)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double value = hc_decode(HC_FP16, bits);
        if (value == value)
            cr_assert_eq(hc_encode(HC_FP16, value, 0, HC_NEAREST), bits);
    }
}
