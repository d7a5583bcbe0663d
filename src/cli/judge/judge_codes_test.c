/* Codes that files have no type for: bytes whose format the command says. */
#include "cli/judge/testing.h"

TestSuite(judge_codes, .init = enter_folder);

#define LINE                                                                                       \
    "$hc judge dequantize --in codes=codes.npy --in scales=scales.npy --out y=y.npy "              \
    "--set rows=1 --set columns=16"

/* e2m1's sixteen numbers times 1.5, which is 3c in ue4m3 and in e4m3. */
static void write_block(unsigned char code, unsigned char scale, float last)
{
    unsigned char codes[16];
    float y[16] = {0, 0.75F, 1.5F, 2.25F, 3, 4.5F, 6, 9};
    for (int i = 0; i < 16; i++)
        codes[i] = (unsigned char)i;
    for (int i = 8; i < 16; i++)
        y[i] = -y[i - 8];
    codes[15] = code;
    y[15] = last;
    write_npy("codes.npy", "|u1", "(1, 16)", codes, sizeof codes);
    write_npy("scales.npy", "|u1", "(1, 1)", &scale, 1);
    write_npy("y.npy", "<f4", "(1, 16)", y, sizeof y);
}

Test(judge_codes, bytes_are_codes_of_the_format_that_is_set)
{
    const char *const passes[] = {"PASS  dequantize", NULL};
    const char *const fails[] = {"FAIL  dequantize", "y[0, 15]", NULL};
    write_block(15, 0x3c, -9);
    prints(LINE " --set codes=e2m1 --set scales=ue4m3", 0, passes);
    prints(LINE " --set scales=ue4m3 --set codes=e2m1", 0, passes);
    write_block(15, 0x3c, 9);
    prints(LINE " --set codes=e2m1 --set scales=ue4m3 --keep kept", 1, fails);
    const char *const again[] = {"FAIL  dequantize", NULL};
    prints("$hc judge kept", 1, again);
}

/* Of zeros the codes are 0, and the scale and the tensor's amax are 0: an amax of 9 is wrong, and
   the codes must be kept, too, since their shape says what is computed. */
Test(judge_codes, a_wrong_amax_is_kept_with_the_codes_that_it_belongs_to)
{
    const unsigned char zeros[16] = {0};
    const float x[16] = {0}, amax = 9;
    const char *const fails[] = {"FAIL  quantize", "amax[0]", NULL};
    write_npy("x.npy", "<f4", "(1, 16)", x, sizeof x);
    write_npy("codes.npy", "|u1", "(1, 16)", zeros, sizeof zeros);
    write_npy("scales.npy", "|u1", "(1, 1)", zeros, 1);
    write_npy("amax.npy", "<f4", "(1,)", &amax, 4);
    prints("$hc judge quantize --in x=x.npy --out codes=codes.npy --out scales=scales.npy "
           "--out amax=amax.npy --set rule=nvfp4-te --set columns=16 --set rows=1 "
           "--set codes=e2m1 --set scales=ue4m3 --keep kept",
           1, fails);
    prints("$hc judge kept", 1, fails);
}

/* A report says by which rule it judged, and that nobody has named it. */
Test(judge_codes, the_rule_is_told_whether_it_was_named_or_not)
{
    const unsigned char codes[16] = {0}, scales[4] = {0, 0, 0x80, 0x3f};
    const float x[16] = {0};
    const char *const usual[] = {"PASS  quantize\n  with      rule=te-current (default)\n", NULL};
    const char *const named[] = {"FAIL  quantize\n  with      rule=torchao, columns=16\n", NULL};
    const char *const json[] = {"\"params\": {", "\"rule\": \"te-current\"", "\"columns\": 0",
                                NULL};
    write_npy("x.npy", "<f4", "(1, 16)", x, sizeof x);
    write_npy("codes.npy", "|u1", "(1, 16)", codes, sizeof codes);
    write_npy("scales.npy", "<f4", "(1, 1)", scales, sizeof scales);
#define QUANTIZE "$hc judge quantize --in x=x.npy --out codes=codes.npy --out scales=scales.npy"
    prints(QUANTIZE " --set codes=e4m3", 0, usual);
    prints(QUANTIZE " --set codes=e4m3 --json -", 0, json);
    prints(QUANTIZE " --set codes=e4m3 --set rule=torchao --set columns=16", 1, named);
    write_npy("scales.npy", "|u1", "(1, 1)", scales, 1);
    expect_refusal(QUANTIZE " --set codes=e4m3 --set scales=e8m0",
                   "te-current is the rule where none is named: --set rule=RULE");
    expect_refusal(QUANTIZE " --set codes=e4m3 --set scales=e8m0 --set rule=torchao",
                   "scales is e8m0, not fp32 as torchao stores them\n");
}

Test(judge_codes, what_is_no_code_of_the_format_is_refused_in_one_line)
{
    write_block(0x1f, 0x3c, -9);
    expect_refusal(LINE " --set codes=e2m1 --set scales=ue4m3",
                   "codes holds 1f at place 15, and a code of e2m1 has 4 bits");
    write_block(15, 0xbc, -9);
    expect_refusal(LINE " --set codes=e2m1 --set scales=ue4m3",
                   "scales holds bc at place 0, and a code of ue4m3 has 7 bits");
    write_block(15, 0x3c, -9);
    expect_refusal(LINE " --set scales=ue4m3", "set codes=FORMAT");
    expect_refusal(LINE " --set codes=e2m7", "'e2m7' is no format of one byte");
    expect_refusal(LINE " --set codes=fp16", "'fp16' is no format of one byte");
    expect_refusal(LINE " --set y=e4m3", "y is fp32, and only bytes can be said to be codes");
    expect_refusal("$hc judge quantize --in x=y.npy --set codes=e2m1",
                   "codes is set to e2m1, but not given");
}
