/* quantize against golden blocks: codes and scales as the systems' own code gave them. The first
   line of each file in vectors/ says what was executed. Where an element is NaN, those systems make
   a NaN of the block's amax, and the contract of quantize drops it: these blocks are left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/exact/testing.h"
#include "op/quant.h"

enum { WORDS = 64, WIDTH = 4096 };

/* A line's words; | stands between groups. */
struct line {
    int count;
    char text[WIDTH];
    const char *word[WORDS];
};

static bool next_line(FILE *in, struct line *l)
{
    do {
        if (!fgets(l->text, sizeof l->text, in))
            return false;
    } while (l->text[0] == '#');
    l->count = 0;
    for (char *w = strtok(l->text, " |\n"); w && l->count < WORDS; w = strtok(NULL, " |\n"))
        l->word[l->count++] = w;
    return true;
}

static uint32_t number(const struct line *l, int i)
{
    cr_assert(i < l->count);
    return (uint32_t)strtoul(l->word[i], NULL, 16);
}

static FILE *open_blocks(const char *name)
{
    char path[WIDTH];
    (void)snprintf(path, sizeof path, HC_SOURCE "/kernels/exact/vectors/%s", name);
    FILE *in = fopen(path, "r");
    cr_assert(in != NULL, "%s: cannot be read", path);
    return in;
}

/* A call of two rows, each a block: the second one's first element is to be the largest of all. */
static struct hc_call block_call(enum hc_scale_rule rule, enum hc_format codes, int64_t columns)
{
    return (struct hc_call){
        .op = HC_OP_quantize,
        .in = {made(hc_tensor2(HC_FP32, 2, columns, NULL))},
        .out = {made(hc_tensor2(codes, 2, columns, NULL)),
                made(hc_tensor2(hc_scale_format(rule), 2, 1, NULL)),
                made(hc_tensor1(HC_FP32, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))},
        .params.quantize = {.rule = rule, .rows = 1, .columns = columns},
    };
}

static bool has_nan(const struct line *l, int first, int count)
{
    for (int i = first; i < first + count; i++)
        if (isnan(hc_fp32_value(number(l, i))))
            return true;
    return false;
}

static void fill(const struct hc_call *call, const struct line *l, int first, int count)
{
    for (int i = 0; i < count; i++)
        hc_tensor_set_bits(&call->in[HC_QUANTIZE_X], i, number(l, first + i));
}

static void expect_codes(const struct hc_call *call, const char *word[], int count, int line)
{
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    for (int i = 0; i < count; i++) {
        uint64_t want = strtoul(word[i], NULL, 16);
        uint64_t got = hc_tensor_bits(codes, i);
        cr_expect(same(codes->format, want, got), "block %d, %s, code %d: want %x, got %x", line,
                  hc_scale_rule_names[call->params.quantize.rule], i, (unsigned)want,
                  (unsigned)got);
    }
}

static void expect_scale(const struct hc_call *call, uint64_t want, int line)
{
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    uint64_t got = hc_tensor_bits(scales, 0);
    cr_expect(same(scales->format, want, got), "block %d, %s: want scale %x, got %x", line,
              hc_scale_rule_names[call->params.quantize.rule], (unsigned)want, (unsigned)got);
}

Test(quant_blocks, blocks_of_32_under_e8m0_have_torchaos_codes)
{
    static const struct {
        enum hc_scale_rule rule;
        int at; /* the scale's word; four codes follow */
    } answers[] = {{HC_SCALE_MX_RP, 5},
                   {HC_SCALE_AO18_FLOOR, 11},
                   {HC_SCALE_AO18_RCEIL, 17},
                   {HC_SCALE_AO18_CEIL, 23},
                   {HC_SCALE_AO18_EVEN, 29}};
    FILE *in = open_blocks("block_mx_e4m3.txt");
    static struct line l;
    int lines = 0;
    while (next_line(in, &l)) {
        cr_assert_eq(l.count, 34);
        lines++;
        for (size_t a = 0; a < sizeof answers / sizeof *answers; a++) {
            struct hc_call call = block_call(answers[a].rule, HC_E4M3, 32);
            fill(&call, &l, 0, 4);
            call_exact(&call);
            expect_scale(&call, number(&l, answers[a].at), lines);
            expect_codes(&call, &l.word[answers[a].at + 1], 4, lines);
        }
    }
    cr_expect_eq(lines, 200, "%d lines", lines);
    (void)fclose(in);
}

Test(quant_blocks, blocks_of_128_have_deepgemms_scales_and_codes)
{
    FILE *in = open_blocks("block_deepgemm.txt");
    static struct line l;
    int lines = 0;
    int left_out = 0;
    while (next_line(in, &l)) {
        cr_assert_eq(l.count, 14);
        lines++;
        if (has_nan(&l, 0, 4)) {
            left_out++;
            continue;
        }
        struct hc_call call = block_call(HC_SCALE_DEEPGEMM, HC_E4M3, 128);
        fill(&call, &l, 0, 4);
        call_exact(&call);
        expect_scale(&call, number(&l, 4), lines);
        expect_codes(&call, &l.word[5], 4, lines);
        call = block_call(HC_SCALE_DEEPGEMM_UE8M0, HC_E4M3, 128);
        fill(&call, &l, 0, 4);
        call_exact(&call);
        expect_scale(&call, number(&l, 9) >> 23, lines);
        expect_codes(&call, &l.word[10], 4, lines);
    }
    cr_expect_eq(lines, 200, "%d lines", lines);
    cr_expect_eq(left_out, 1);
    (void)fclose(in);
}

/* TransformerEngine's reference makes 0 of -0, which e2m1 has, and of NaN. */
static void expect_nibbles(const struct hc_call *call, const char *want, bool positive_zero,
                           int line)
{
    for (int i = 0; i < 16; i++) {
        char digit = "0123456789abcdef"[hc_tensor_bits(&call->out[HC_QUANTIZE_CODES], i)];
        if (positive_zero && digit == '8' && want[i] == '0')
            digit = '0';
        cr_expect_eq(digit, want[i], "block %d, %s, code %d: want %c, got %c", line,
                     hc_scale_rule_names[call->params.quantize.rule], i, want[i], digit);
    }
}

Test(quant_blocks, blocks_of_16_in_two_levels_have_transformer_engines_and_torchaos_codes)
{
    FILE *in = open_blocks("block_nvfp4.txt");
    static struct line l;
    int lines = 0;
    int left_out = 0;
    while (next_line(in, &l)) {
        cr_assert_eq(l.count, 21);
        lines++;
        if (has_nan(&l, 1, 16)) {
            left_out++;
            continue;
        }
        for (int torchao = 0; torchao < 2; torchao++) {
            struct hc_call call =
                block_call(torchao ? HC_SCALE_NVFP4_TORCHAO : HC_SCALE_NVFP4_TE, HC_E2M1, 16);
            fill(&call, &l, 1, 16);
            hc_tensor_set_bits(&call.in[HC_QUANTIZE_X], 16, number(&l, 0));
            call_exact(&call);
            cr_expect_eq(hc_tensor_bits(&call.out[HC_QUANTIZE_AMAX], 0), number(&l, 0),
                         "block %d: its amax is not the tensor's", lines);
            expect_scale(&call, number(&l, 17 + 2 * torchao), lines);
            /* e2m1 has no NaN; what torchao's conversion makes of one is no rule. */
            if (!torchao || number(&l, 19) != 0xff)
                expect_nibbles(&call, l.word[18 + 2 * torchao], !torchao, lines);
        }
    }
    cr_expect_eq(lines, 291, "%d lines", lines);
    cr_expect_eq(left_out, 1);
    (void)fclose(in);
}
