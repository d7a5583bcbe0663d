/* The table of units, and the encodings. */
#include <criterion/criterion.h>
#include <math.h>

#include "num/format.h"
#include "unit/testing.h"

Test(units, table_holds_together)
{
    int n, plain = 0;
    const struct hc_unit *units = hc_units(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_unit *u = &units[i];
        cr_expect_eq(hc_unit_by_name(u->name), u, "%s stands twice", u->name);
        cr_expect(u->k > 0 && u->piece > 0 && u->k % u->piece == 0, "%s", u->name);
        cr_expect_eq(u->scale == HC_OPERAND_NONE, u->block == 0, "%s", u->name);
        cr_expect(!u->block || u->k % u->block == 0, "%s", u->name);
        cr_expect(u->title && u->instruction && u->source, "%s", u->name);
        cr_expect(u->a && u->b && u->c && u->d && u->nan, "%s", u->name);
        cr_expect_eq(hc_operand_decode(u->d, u->nan).class_, HC_CLASS_NAN, "%s", u->name);
        cr_expect(u->output_fraction <= hc_operands[u->d].fraction, "%s", u->name);
        bool variant = strchr(u->name, '@') != NULL;
        cr_expect_eq(variant, u->variant_of != NULL, "%s", u->name);
        if (variant)
            cr_expect(strncmp(u->name, u->variant_of, strlen(u->variant_of)) == 0 &&
                          u[-1].name == hc_unit_by_name(u->variant_of)->name &&
                          u[-1].certainty == HC_CERTAINTY_DISPUTED,
                      "%s", u->name);
        plain += !variant;
    }
    cr_expect_eq(plain, 98, "%d", plain);
    cr_expect_null(hc_unit_by_name("h100"));
}

/* The formats that tensors have, too, against their own conversion. */
Test(operands, codes_of_formats_have_the_formats_values)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_E4M3, HC_E5M2};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        enum hc_operand operand = hc_operand_of(formats[f]);
        cr_expect_eq(hc_operand_by_name(hc_formats[formats[f]].name), operand);
        for (uint32_t code = 0; code < 1u << hc_operands[operand].bits; code++) {
            double want = hc_decode(formats[f], code), got = value_of(operand, code);
            cr_expect(isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got),
                      "%s %x: %a, want %a", hc_operands[operand].name, code, got, want);
        }
    }
    for (uint32_t i = 0; i < 1u << 16; i++) {
        uint32_t code = i << 16 | (i * 40503u & 0xffff);
        double want = hc_decode(HC_FP32, code), got = value_of(HC_OPERAND_FP32, code);
        cr_expect(isnan(want) ? isnan(got) : want == got, "fp32 %08x", code);
        want = hc_decode(HC_FP32, code & ~0x1fffu), got = value_of(HC_OPERAND_TF32, code);
        cr_expect(isnan(want) ? isnan(got) : want == got, "tf32 %08x", code);
    }
    cr_expect_eq(hc_operand_of(HC_FP64), HC_OPERAND_NONE);
    cr_expect_eq(hc_operand_by_name("none"), HC_OPERAND_NONE);
}

/* From the tables of OCP's MX specification 1.0 and of AMD's CDNA3 instruction set. */
Test(operands, codes_of_the_others_have_their_tables_values)
{
    static const struct {
        enum hc_operand operand;
        uint32_t code;
        double want;
    } rows[] = {
        {HC_OPERAND_E4M3_FNUZ, 0x7f, 240},
        {HC_OPERAND_E4M3_FNUZ, 0x01, 0x1p-10},
        {HC_OPERAND_E4M3_FNUZ, 0x80, NAN},
        {HC_OPERAND_E4M3_FNUZ, 0x40, 1},
        {HC_OPERAND_E5M2_FNUZ, 0x7f, 57344},
        {HC_OPERAND_E5M2_FNUZ, 0x01, 0x1p-17},
        {HC_OPERAND_E5M2_FNUZ, 0x80, NAN},
        {HC_OPERAND_E5M2_FNUZ, 0xc0, -1},
        {HC_OPERAND_E2M3, 0x1f, 7.5},
        {HC_OPERAND_E2M3, 0x01, 0.125},
        {HC_OPERAND_E2M3, 0x28, -1},
        {HC_OPERAND_E3M2, 0x1f, 28},
        {HC_OPERAND_E3M2, 0x01, 0.0625},
        {HC_OPERAND_E3M2, 0x2c, -1},
        {HC_OPERAND_E2M1, 0, 0},
        {HC_OPERAND_E2M1, 1, 0.5},
        {HC_OPERAND_E2M1, 2, 1},
        {HC_OPERAND_E2M1, 3, 1.5},
        {HC_OPERAND_E2M1, 4, 2},
        {HC_OPERAND_E2M1, 5, 3},
        {HC_OPERAND_E2M1, 6, 4},
        {HC_OPERAND_E2M1, 0xf, -6},
        {HC_OPERAND_UE8M0, 0, 0x1p-127},
        {HC_OPERAND_UE8M0, 127, 1},
        {HC_OPERAND_UE8M0, 254, 0x1p127},
        {HC_OPERAND_UE8M0, 255, NAN},
        {HC_OPERAND_UE4M3, 0x38, 1},
        {HC_OPERAND_UE4M3, 0xb8, 1},
        {HC_OPERAND_UE4M3, 0x7e, 448},
        {HC_OPERAND_UE4M3, 0x7f, NAN},
        {HC_OPERAND_UE4M3, 0xff, NAN},
        {HC_OPERAND_UE4M3, 0x01, 0x1p-9},
        {HC_OPERAND_UE4M3, 0x80, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = value_of(rows[i].operand, rows[i].code);
        cr_expect(isnan(rows[i].want) ? isnan(got) : got == rows[i].want, "%s %02x: %a",
                  hc_operands[rows[i].operand].name, rows[i].code, got);
    }
}
