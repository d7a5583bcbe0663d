/* The engine against golden vectors: those beside this file, and, where there is one, the whole
   folder that they are a third of (src/unit/vectors/choose.py). Those of AMX are this project's. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>

#include "unit/testing.h"

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
