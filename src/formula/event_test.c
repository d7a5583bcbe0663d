/* Events and their sentences. The numbers in them are exact, or MPFR's by the evaluation's own
   tests; where a threshold stands in a sentence, the numbers on both of its sides are tried. */
#include "formula/testing.h"

static void assert_tells(const char *in, const char *text, const char *want)
{
    char all[1000] = "";
    char sentence[200];
    const struct hc_event *event;
    struct trial t = begin(in, text);
    int n = hc_evaluation_events(t.e, &event);
    for (int i = 0; i < n; i++) {
        hc_event_text(&event[i], sentence, sizeof sentence);
        cr_assert_leq(strlen(sentence), 78, "%s", sentence);
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "\n" : "",
                       sentence);
    }
    cr_assert_str_eq(all, want, "%s in %s: '%s', not '%s'", text, in, all, want);
    finish(&t);
}

/* The thresholds are half a step above the largest number: 30 of e3m2, 7.75 of e2m3, 464 of
   e4m3. */
Test(event, a_format_without_the_number_or_its_sign_has_another_one_for_it)
{
    assert_tells("fp32", "x = e3m2(100)", "100 saturates to 28 in e3m2");
    assert_tells("fp32", "x = e3m2(-30.1)", "-30.1 saturates to -28 in e3m2");
    assert_tells("fp32", "x = e3m2(30)", "");
    assert_tells("fp32", "x = e2m3(7.75); y = e4m3_sat(464)", "");
    assert_tells("fp32", "x = e4m3_sat(465)", "465 saturates to 448 in e4m3");
    assert_tells("fp32", "x = fp16_rz(70000)", "70000 is 65504 in fp16, rounded toward-zero");
    assert_tells("fp32", "x = e2m1(inf)", "inf saturates to 6 in e2m1");
    assert_tells("fp32", "x = ue4m3(-1)", "-1 is 1 in ue4m3, which has no sign");
    assert_tells("fp32", "x = ue4m3(-0.5)", "-0.5 is 0.5 in ue4m3, which has no sign");
    assert_tells("fp32", "x = fp32(-3); y = e8m0(x)", "x = -3 is 4 in e8m0, which has no sign");
    assert_tells("fp32", "x = fp32(70); y = e2m1(x)", "x = 70 saturates to 6 in e2m1");
    assert_tells("fp32", "x = e4m3fnuz(-0); y = ue4m3(0); z = e8m0(1)", "");
    assert_tells("fp32", "x = e8m0(0); y = e8m0(-0); z = ue4m3(-0)", "");
}

Test(event, a_constant_may_become_0_1_or_infinite)
{
    assert_tells("fp16", "x = 1e-8", "1e-8 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp64", "x = 1e-400", "1e-400 is 0 in fp64: everything up to 2^-1075 is");
    assert_tells("fp16", "x = 2^-25",
                 "2^-25 = 2.98023e-08 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp16", "x = 2.9802323e-8", ""); /* just above 2^-25 = 2.98023223876953125e-8 */
    assert_tells("bf16", "x = 1; y = x * 0.999",
                 "0.999 is 1 in bf16: all from 1 - 2^-9 to 1 + 2^-8 is");
    assert_tells("bf16", "x = 1 - 2^-9",
                 "1 - 2^-9 = 0.998047 is 1 in bf16: all from 1 - 2^-9 to 1 + 2^-8 is");
    assert_tells("bf16", "x = 1 + 2^-8 + 2^-20; y = 1 - 2^-9 - 2^-20", "");
    assert_tells("fp32", "x = 0.99999999",
                 "0.99999999 is 1 in fp32: all from 1 - 2^-25 to 1 + 2^-24 is");
    assert_tells("fp32", "x = e8m0(1.2)",
                 "1.2 is 1 in e8m0: all from 1 - 2^-2 to below 1 + 2^-1 is");
    assert_tells("fp32", "x = e8m0(0.75)",
                 "0.75 is 1 in e8m0: all from 1 - 2^-2 to below 1 + 2^-1 is");
    assert_tells("fp16", "x = 1e5", "1e5 is infinite in fp16, which ends at 65504");
    assert_tells("fp16", "x = 65519.99", "");
    assert_tells("fp16", "x = 65520", "65520 is infinite in fp16, which ends at 65504");
    assert_tells("fp32", "x = e4m3(500)", "500 is NaN in e4m3, which ends at 448");
    assert_tells("fp32", "x = e4m3(inf)", "inf is NaN in e4m3, which ends at 448");
    assert_tells("fp32", "x = ue4m3(-inf)", "-inf is NaN in ue4m3, which ends at 448");
    assert_tells("fp32", "x = e4m3fnuz(inf)", "inf is NaN in e4m3fnuz, which ends at 240");
    assert_tells("fp32", "x = e5m2(inf); y = e4m3(nan); z = e8m0(nan)", "");
    assert_tells("fp32", "x = fp16_rz(1e-8)", "1e-8 is 0 in fp16, rounded toward-zero");
    assert_tells("fp32", "x = bf16_rd(1.001)", "1.001 is 1 in bf16, rounded downward");
    assert_tells("fp16", "eps := 1e-8; x = 1; y = x + eps",
                 "eps = 1e-08 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp16", "x = 0; y = 1; z = inf; n = nan; y = x * 0", "");
}

/* Half's numbers are 2^-11 apart below 1 and 2^-10 above it. */
Test(event, an_addend_may_be_below_half_an_ulp)
{
    assert_tells("fp16", "w = 1; w = w - 1e-4", "1e-4 is below half an ulp of w, 2^-12");
    assert_tells("fp16", "w = 1; w -= 1e-4", "1e-4 is below half an ulp of w, 2^-12");
    assert_tells("fp16", "w = 1; w += 1e-4", "1e-4 is below half an ulp of w, 2^-11");
    assert_tells("fp16", "w = -1; w += 1e-4", "1e-4 is below half an ulp of w, 2^-12");
    assert_tells("fp16", "w = 1; w += 2^-11",
                 "2^-11 = 0.000488281 is half an ulp of w, 2^-11: a tie goes to even");
    assert_tells("fp16", "w = 1; w += 4.9e-4; w = 1; w = w - 2.5e-4", "");
    assert_tells("fp16", "w = 1; g = 1e-3; w = g * 0.1 + w",
                 "g * 0.1 = 0.000100017 is below half an ulp of w, 2^-11");
    assert_tells("bf16", "w = 256; w = w + 1", "1 is half an ulp of w, 1: a tie goes to even");
    assert_tells("fp16", "w = 2^-24; w = w + 2^-24; z = 0; z = w + z", "");
    assert_tells("fp16", "s = sum(4096, 1)",
                 "1 is half an ulp of the sum (2048), 1: a tie goes to even");
    assert_tells("fp16", "x = [4096, 1]; s = sum(x)",
                 "a term = 1 is below half an ulp of the sum (4096), 2^1");
}

Test(event, a_result_may_vanish_or_overflow)
{
    assert_tells("fp16", "g = 1e-4; v = g * g",
                 "g * g = 1.00033e-08 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp16", "x = 257; y = x * 257",
                 "x * 257 = 66049 is infinite in fp16, which ends at 65504");
    assert_tells("fp32", "x = 66049; y = fp16(x)",
                 "x = 66049 is infinite in fp16, which ends at 65504");
    assert_tells("fp32", "x = fp32(500); y = e4m3(x)", "x = 500 is NaN in e4m3, which ends at 448");
    assert_tells("fp32/fp16", "x = 300; y = x * x",
                 "x * x = 90000 is infinite in fp16, which ends at 65504");
    assert_tells("fp16", "x = 65504; s = sum(3, x)",
                 "the sum = 131008 is infinite in fp16, which ends at 65504");
    assert_tells("fp16", "p = prod(20, 10)",
                 "the product = 100000 is infinite in fp16, which ends at 65504");
    assert_tells("fp16", "x = 12; y = exp(x); z = exp(-2 * x)",
                 "exp(x) = 162755 is infinite in fp16, which ends at 65504\n"
                 "exp(-2 * x) = 3.77513e-11 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp64", "x = 1000; y = exp(x)",
                 "exp(x) is infinite in fp64, which ends at 1.79769e+308");
    assert_tells("fp32", "x = 1e-6; y = fp16_rd(x * 0.01)",
                 "x * 0.01 = 1e-08 is 0 in fp16, rounded downward");
}

Test(event, a_result_may_be_no_number)
{
    assert_tells("fp16", "x = 0; y = x / x", "0 / 0 is NaN: x / x");
    assert_tells("fp16", "x = inf; y = x - x; z = y + 1", "inf - inf is NaN: x - x");
    assert_tells("fp16", "x = inf; y = x * 0", "inf * 0 is NaN: x * 0");
    assert_tells("fp16", "x = -1; y = sqrt(x); z = log(x)",
                 "sqrt(-1) is NaN: sqrt(x)\nlog(-1) is NaN: log(x)");
    assert_tells("fp16", "x = inf; y = fma(x, 0, 1)", "fma(inf, 0, 1) is NaN: fma(x, 0, 1)");
    assert_tells("fp16", "x = 0; y = 1 / x; z = -1 / x",
                 "1 / x is a division by 0: 1 / 0 = inf\n-1 / x is a division by 0: -1 / 0 = -inf");
    assert_tells("fp16", "x = 1/0; y = 0 / 0; z = inf - inf; a = 1/inf; b = nan * 2",
                 "1 / 0 is a division by 0\n0 / 0 is NaN");
    assert_tells("fp16", "x = 0; y = x**-1; z = rsqrt(-x); a = (-1)**0.5 * x",
                 "0 ^ -1 is infinite: x**-1\nrsqrt(-0) is -inf: rsqrt(-x)\n-1 ^ 0.5 is NaN: "
                 "(-1)**0.5");
    assert_tells("fp16", "x = -20; y = sigmoid(x); z = 2**(x*2)",
                 "sigmoid(x) = 2.06115e-09 is 0 in fp16: everything up to 2^-25 is\n"
                 "2**(x*2) = 9.09495e-13 is 0 in fp16: everything up to 2^-25 is");
    assert_tells("fp16", "x = 0; y = log(x)", "log(0) is -inf: log(x)");
    assert_tells("fp16",
                 "x = inf; y = x + 1; z = x * 2; a = exp(x); b = 1 / x; c = tanh(x); "
                 "d = exp(-x); e = sigmoid(-x)",
                 "");
    assert_tells("fp16", "x = [1, 0, nan]; y = min(x); z = select(x > 0, x, 1); t = isnan(x)", "");
}

/* By integers. From 8192 on bf16's numbers are 64 apart, from 16384 on 128. The squares are 9984,
   10176 and 10432; 20160 is a tie that goes to 20224, 30656 one that goes to 30720, and a third is
   10240. 303 is 304, a third of it 101.5, and its square 10302.25 is 10304, 103 from 101^2 = 10201.
   In fp16 numbers are 8 and 16 apart: 10000, 10200 and 10400 come to 20192 and 30592, a third of
   which is 10200, 1.67 from 10201.67; and 101^2 is 10200. */
Test(event, bits_may_cancel)
{
    assert_tells("bf16", "x = [100, 101, 102]; m = mean(x); ms = mean(x*x); v = ms - m*m",
                 "ms - m*m = -64: 7 of 8 bits cancel, and m*m was 103 off");
    assert_tells("fp16", "x = [100, 101, 102]; m = mean(x); ms = mean(x*x); v = ms - m*m",
                 "ms - m*m = 0: all 11 bits cancel, and ms was 1.67 off");
    /* Exact operands, a small loss, one that is right to more than half of its bits, and one that
       is not known to be one. */
    assert_tells("bf16", "a = 256; b = 255; c = a - b; d = 1.01 - b; e = b - 1.01", "");
    assert_tells("fp16", "a = 1/3; b = 0.3; c = a - b", "");
    /* 136, which is 1.5 off, less 120: 3 of 8 bits. */
    assert_tells("bf16", "a = 131; a += 0.5; a += 1; a += 0.5; a += 1; a += 0.5; c = a - 120", "");
    assert_tells("bf16", "a = 131; a += 0.5; a += 1; a += 0.5; a += 1; a += 0.5; c = a - 121",
                 "a - 121 = 15: 4 of 8 bits cancel, and a was 1.5 off");
    assert_tells("fp16", "a = 1/3; b = 0.3330078125; c = a - b",
                 "a - b = 0.000244141: 10 of 11 bits cancel, and a was 8.14e-05 off");
    assert_tells("fp16", "a = 1/3; b = -0.3330078125; c = b + a",
                 "b + a = 0.000244141: 10 of 11 bits cancel, and a was 8.14e-05 off");
    assert_tells("fp16", "s = sum([1/3, 1000, -1000])",
                 "the sum = 0.5: 10 of 11 bits cancel, and the sum was 0.167 off");
    assert_tells("fp64", "x = sqrt(2); y = x * x - 2",
                 "x * x - 2 = 4.44089e-16: 52 of 53 bits cancel, and x * x was 4.44e-16 off");
}

Test(event, a_name_may_change_its_format)
{
    assert_tells("fp16", "w = 1; w = w * fp32(3); w = w + 1; w = bf16(w)",
                 "w was fp16 and becomes fp32: w * fp32(3)\nw was fp32 and becomes bf16: bf16(w)");
    assert_tells("fp32/fp16", "w = 1; w = w * 3; c := 1; c := 2; x = [1, 2]; x = 3", "");
}

Test(event, what_happens_inside_of_functions_of_lists_has_words)
{
    assert_tells("fp16", "m = mean(70000, 0)",
                 "the number of terms = 70000 is infinite in fp16, which ends at 65504");
    assert_tells("fp16", "s = softmax([0, -30])",
                 "an exponential = 9.35762e-14 is 0 in fp16: everything up to 2^-25 "
                 "is");
    assert_tells("fp16", "s = softmax([-60000, 60000])",
                 "a term less the largest = -120000 is infinite in fp16, which ends at 65504");
    assert_tells("fp32", "s = quantize(mx-floor, e4m3, [957, 1])",
                 "a scaled number = 478.5 saturates to 448 in e4m3");
}

Test(event, counts_how_often_and_when)
{
    struct trial t = begin("fp16", "w = 2046");
    const struct hc_event *event;
    loop(&t, "w += 1", 10); /* 2047, 2048, and then it stands still */
    cr_assert_eq(hc_evaluation_events(t.e, &event), 1);
    cr_assert_eq(event->kind, HC_EVENT_ABSORBED);
    cr_assert(event->first == 3 && event->last == 10 && event->times == 8);
    finish(&t);
    t = begin("fp16", "x = list(10, i * 20)");
    loop(&t, "y = x * x * step", 3);
    cr_assert_eq(hc_evaluation_events(t.e, &event), 1);
    cr_assert_eq(event->kind, HC_EVENT_OVERFLOWED);
    /* (20 i)^2 step > 65520: none at step 1, 180^2 2 = 64800 is not, 160^2 3 and 180^2 3 are. */
    cr_assert(event->first == 3 && event->last == 3 && event->times == 2);
    cr_assert(event->operands == 2 && event->operand[0] == 25600 && event->operand[1] == 3);
    cr_assert(event->exact == 76800 && event->result == INFINITY && event->format == HC_FP16);
    finish(&t);
}

Test(event, a_long_formula_is_cut)
{
    assert_tells("fp16",
                 "a_long_name = 1e-4; another_long_name = 1; y = a_long_name * a_long_name * 1e4; "
                 "z = another_long_name * another_long_name * 0.5 + another_long_name - 2 * "
                 "a_long_name",
                 "a_long_name * a_long_... = 1.00033e-08 is 0 in fp16: everything up to 2^-25 is\n"
                 "2 * a_long_name = 0.000200033 is below half an ulp of another_long_..., 2^-11");
}
