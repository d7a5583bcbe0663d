/* The scale rules against golden vectors: answers of the systems' own code, executed, or of exact
   integers; the first lines of each file say which. Beside this file is each third line of those of
   scales, and traces whole; HALFCHECK_FP8_VECTORS names a folder with all. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/element/scale_delayed.h"
#include "kernels/element/scale_rule.h"

enum { COLUMNS = 16, WIDTH = 4096 };

/* The hex words of a line. One has none where it is "--" or "xxxxxxxx", which is no answer. */
struct line {
    int words;
    uint32_t word[COLUMNS];
    bool has[COLUMNS];
};

static bool next_line(FILE *in, struct line *l)
{
    static char text[WIDTH];
    do {
        if (!fgets(text, sizeof text, in))
            return false;
    } while (text[0] == '#');
    l->words = 0;
    for (char *w = strtok(text, " \n"); w && l->words < COLUMNS; w = strtok(NULL, " \n")) {
        l->has[l->words] = strspn(w, "0123456789abcdef") == strlen(w);
        l->word[l->words++] = (uint32_t)strtoul(w, NULL, 16);
    }
    return true;
}

static FILE *open_vectors(const char *folder, const char *file)
{
    static char path[WIDTH];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *in = fopen(path, "r");
    cr_assert(in != NULL, "%s: cannot be read", path);
    return in;
}

static bool same(uint32_t want, uint32_t got)
{
    return want == got || (isnan(hc_fp32_value(want)) && isnan(hc_fp32_value(got)));
}

static void check_rule(enum hc_scale_rule rule, const struct hc_scale_formats *f, uint32_t amax,
                       uint32_t want)
{
    struct hc_tensor_scale one = {1, 1};
    float a = hc_fp32_value(amax);
    struct hc_scale s = hc_scale_of(rule, f, &one, a);
    bool is_code = hc_scale_format(rule) == HC_E8M0;
    uint32_t got = is_code ? s.stored : hc_fp32_bits(s.encode);
    bool equal = is_code ? want == got : same(want, got);
    cr_expect(equal, "%s of amax %08x: want %08x, got %08x", hc_scale_rules[rule].name, amax, want,
              got);
}

static const enum hc_scale_rule of_e8m0[COLUMNS] = {
    0,
    HC_SCALE_MX_FLOOR,
    HC_SCALE_MX_RP,
    HC_SCALE_MX_TE,
    HC_SCALE_MX_CUBLAS,
    HC_SCALE_AO18_FLOOR,
    HC_SCALE_AO18_RCEIL,
    HC_SCALE_AO18_CEIL,
    HC_SCALE_AO18_EVEN,
    HC_SCALE_MX_NEAREST,
    HC_SCALE_MX_FLOOR_DIV,
    HC_SCALE_DEEPGEMM_UE8M0,
    HC_SCALE_MX_FLOOR,
    HC_SCALE_AO_RCEIL,
    HC_SCALE_MX_CEIL,
    HC_SCALE_AO_EVEN,
};

static const enum hc_scale_rule of_tensor[COLUMNS] = {
    0,
    HC_SCALE_TE_CURRENT,
    HC_SCALE_TE_CURRENT_POW2,
    HC_SCALE_TE_REFERENCE,
    HC_SCALE_TE_REFERENCE_POW2,
    HC_SCALE_TORCHAO,
    HC_SCALE_TORCHAO_POW2,
};

static int check_scales(const char *folder, const char *file, enum hc_format codes,
                        const enum hc_scale_rule *rules)
{
    struct hc_scale_formats f = hc_scale_formats_of(&hc_formats[codes], &hc_formats[HC_FP32]);
    struct line l;
    int checked = 0;
    FILE *in = open_vectors(folder, file);
    while (next_line(in, &l))
        for (int w = 1; w < l.words; w++)
            if (l.has[w] && rules[w] != HC_SCALE_GIVEN) {
                check_rule(rules[w], &f, l.word[0], l.word[w]);
                checked++;
            }
    (void)fclose(in);
    return checked;
}

/* MS-AMP's column of scale_tensor.txt: its scale was 128. */
static void check_ms_amp(const char *folder)
{
    struct hc_delayed_scale p = {.rule = HC_DELAYED_MS_AMP, .codes = HC_E4M3};
    FILE *in = open_vectors(folder, "scale_tensor.txt");
    struct line l;
    while (next_line(in, &l)) {
        float history = 0, amax = hc_fp32_value(l.word[0]);
        struct hc_delayed_history h = {&history, &history, 1, 1};
        uint32_t got = hc_fp32_bits(hc_delayed_step(&p, 448, amax, 128, &h));
        cr_expect(l.word[7] == got, "ms-amp of amax %08x: want %08x, got %08x", l.word[0],
                  l.word[7], got);
    }
    (void)fclose(in);
}

static void check_trace(const char *folder, const char *file, struct hc_delayed_scale p,
                        int64_t length, int column)
{
    static float history[16];
    memset(history, 0, sizeof history);
    struct hc_delayed_history h = {history, history, length, 1};
    float scale = 1, max = hc_scale_largest(&hc_formats[p.codes]);
    FILE *in = open_vectors(folder, file);
    struct line l;
    int steps = 0;
    for (; next_line(in, &l); steps++) {
        scale = hc_delayed_step(&p, max, hc_fp32_value(l.word[0]), scale, &h);
        cr_expect(same(l.word[column], hc_fp32_bits(scale)), "%s, %s, step %d: want %08x, got %08x",
                  file, hc_delayed_rules[p.rule].name, steps + 1, l.word[column],
                  hc_fp32_bits(scale));
    }
    (void)fclose(in);
    cr_expect_eq(steps, 109);
}

static void check_te_traces(const char *folder)
{
    static const enum hc_format codes[] = {HC_E4M3, HC_E5M2};
    static const int length[] = {1, 4, 16};
    for (int i = 0; i < 12; i++) {
        struct hc_delayed_scale p = {HC_DELAYED_TE, codes[i % 2], length[i / 2 % 3] == 16, i >= 6};
        char file[64];
        (void)snprintf(file, sizeof file, "trace_te_delayed_%s_%s_L%d_m%d.txt",
                       p.most_recent ? "most_recent" : "max", hc_formats[p.codes].name,
                       length[i / 2 % 3], p.margin);
        check_trace(folder, file, p, length[i / 2 % 3], 1);
        p.rule = HC_DELAYED_TE_UNFUSED;
        check_trace(folder, file, p, length[i / 2 % 3], 2);
    }
}

static void check_folder(const char *folder, int least)
{
    int checked = check_scales(folder, "scale_e8m0_e4m3.txt", HC_E4M3, of_e8m0) +
                  check_scales(folder, "scale_e8m0_e5m2.txt", HC_E5M2, of_e8m0) +
                  check_scales(folder, "scale_e8m0_e2m1.txt", HC_E2M1, of_e8m0) +
                  check_scales(folder, "scale_tensor.txt", HC_E4M3, of_tensor);
    cr_expect(checked >= least, "%d scales", checked);
    check_ms_amp(folder);
    check_te_traces(folder);
    struct hc_delayed_scale p = {HC_DELAYED_FLAX, HC_E4M3, 0, false};
    check_trace(folder, "trace_flax_delayed_e4m3_L4.txt", p, 4, 1);
    p.codes = HC_E5M2;
    check_trace(folder, "trace_flax_delayed_e5m2_L4.txt", p, 4, 1);
}

Test(scale_vectors, those_kept_here_have_the_systems_own_answers)
{
    check_folder(HC_SOURCE "/kernels/element/vectors", 13000);
}

Test(scale_vectors, the_whole_folder_has_the_systems_own_answers)
{
    const char *folder = getenv("HALFCHECK_FP8_VECTORS");
    if (!folder && access(HC_SOURCE "/../shared/fp8", R_OK) == 0)
        folder = HC_SOURCE "/../shared/fp8";
    if (!folder)
        cr_skip_test("HALFCHECK_FP8_VECTORS names no folder");
    check_folder(folder, 38000);
}
