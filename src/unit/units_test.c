/* The table of units, and the encodings. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

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

/* The engine against golden vectors: those beside this file, and, where there is one, the whole
   folder that they are a third of (src/unit/vectors/choose.py). Those of AMX are this project's. */

/* What became of the vectors of a file. */
struct tally {
    int lines, older, raises, corrected;
};

static bool is_number(const struct hc_unit *u, uint32_t d)
{
    return hc_operand_decode(u->d, d).class_ < HC_CLASS_INFINITE;
}

/* MMA-Sim 2.1.1 leaves out a C whose exponent is far below the products' on MI300's fp8 units, and
   takes an infinite or NaN C for one of those: it gives a number where the older version gives the
   infinity or the NaN. No other rule of it loses them, so this is taken for a slip, and the unit of
   the plain name gives the older version's answer to these lines. */
static bool is_slip(const struct hc_unit *u, const struct vector *v)
{
    return u->rule == HC_UNIT_FLOORED_HALVES && is_number(u, v->d) && !is_number(u, v->older);
}

static void check_vector(const struct hc_unit *u, const struct hc_unit *older,
                         const struct vector *v, const char *path, int number, struct tally *t)
{
    uint32_t got = answer(u, v);
    bool slip = is_slip(u, v);
    uint32_t want = slip ? v->older : v->d;
    t->lines++;
    t->corrected += slip;
    cr_expect(hc_unit_same(u, want, got), "%s:%d %s: got %08x, want %08x", path, number, u->name,
              got, want);
    if (!older)
        return;
    t->older += !v->raises;
    t->raises += v->raises;
    got = answer(older, v);
    cr_expect(v->raises || hc_unit_same(older, v->older, got), "%s:%d %s: got %08x, want %08x",
              path, number, older->name, got, v->older);
}

/* The unit of a file's name: all before ".txt" or ".disputed.txt". */
static const struct hc_unit *unit_of(const char *file)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
    return hc_unit_by_name(name);
}

static void check_file(const char *folder, const char *file, struct tally *t)
{
    char path[4096], older[96];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    const struct hc_unit *u = unit_of(file);
    cr_assert(u != NULL, "%s: no unit has this name", path);
    (void)snprintf(older, sizeof older, "%s@c785138", u->name);
    FILE *in = fopen(path, "r");
    cr_assert(in != NULL, "%s: cannot be read", path);
    static struct vector v;
    int number = 0, read;
    while ((read = next_vector(in, u, &v, &number)) > 0)
        check_vector(u, hc_unit_by_name(older), &v, path, number, t);
    cr_expect(read == 0, "%s:%d: not a vector", path, number);
    (void)fclose(in);
}

static int check_folder(const char *folder, struct tally *t)
{
    DIR *d = opendir(folder);
    cr_assert(d != NULL, "%s: cannot be read", folder);
    int files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length > 4 && strcmp(e->d_name + length - 4, ".txt") == 0) {
            check_file(folder, e->d_name, t);
            files++;
        }
    }
    (void)closedir(d);
    return files;
}

/* 10,139 lines are the third; 360 were measured by programs/amx_vectors.c. */
Test(vectors, those_kept_here_have_the_published_and_measured_bits)
{
    struct tally t = {0};
    cr_expect_eq(check_folder(HC_SOURCE "/src/unit/vectors", &t), 97);
    cr_expect_eq(t.lines, 10499, "%d lines", t.lines);
    cr_expect_eq(t.older, 8637, "%d by older models", t.older);
    cr_expect_eq(t.raises, 11, "%d on which those raise", t.raises);
    cr_expect_eq(t.corrected, 1, "%d corrected", t.corrected);
}

Test(vectors, the_whole_folder_gives_the_published_bits)
{
    const char *folder = getenv("HALFCHECK_UNIT_VECTORS");
    DIR *beside = folder ? NULL : opendir(HC_SOURCE "/../shared/units");
    if (beside)
        (void)closedir(beside);
    if (!folder && !beside)
        cr_skip_test("HALFCHECK_UNIT_VECTORS names no folder");
    struct tally t = {0};
    (void)check_folder(folder ? folder : HC_SOURCE "/../shared/units", &t);
    printf("%d lines; %d by the older models, which raise on %d more; %d slips of 2.1.1\n", t.lines,
           t.older, t.raises, t.corrected);
    cr_expect(t.lines > 30000);
}

Test(vectors, reader_refuses_what_is_no_vector)
{
    static const char *const lines[] = {
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000",           /* no answer */
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000 ", /* a space at the end */
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000 40a00000 0",
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000 -",
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 -",
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40A00000",
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 0x400000",
        "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 a00000",
        "ties 13c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "ties  3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "ties.x2 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "ties.x9 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "Ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "averylongcategoryname 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        " ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 40a00000",
        "ties",
        "",
    };
    static struct vector v;
    const struct hc_unit *u = hc_unit_by_name("v100-fp16-fp32");
    char good[] = "ties 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3c00 3f800000 - 40a00000";
    cr_expect(read_vector(u, good, &v) && v.disputed && v.raises && v.d == 0x40a00000 && v.n == 4);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "%s", lines[i]);
        cr_expect(!read_vector(u, line, &v), "taken: %s", lines[i]);
    }
}
