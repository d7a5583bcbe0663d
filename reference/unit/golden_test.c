/* The rules in big integers against the golden vectors of src/unit/vectors: what the engine is held
   to must itself be right. */
#include <criterion/criterion.h>

#include "reference.h"
#include "unit/testing.h"

static struct vector vector;

static uint32_t by_definition(const struct hc_unit *unit)
{
    struct hc_unit_scales scales = {vector.scale_a, vector.scale_b};
    return hc_unit_by_definition(unit, vector.a, vector.b, unit->scale ? &scales : NULL, vector.n,
                                 vector.c);
}

/* Returns how many answers were compared: that of the later model, and of the older one. Where the
   two differ about an infinite C of MI300's fp8, the older one is right (units_test.c). */
static int compare(const char *path, const struct hc_unit *unit)
{
    int line = 0;
    int compared = 0;
    char name[96];
    FILE *in = fopen(path, "r");
    (void)snprintf(name, sizeof name, "%s@c785138", unit->name);
    const struct hc_unit *older = hc_unit_by_name(name);
    while (in && next_vector(in, unit, &vector, &line) > 0) {
        bool number = hc_operand_decode(unit->d, vector.older).class_ < HC_CLASS_INFINITE;
        bool slip = unit->rule == HC_UNIT_FLOORED_HALVES && !number;
        uint32_t want = slip && !vector.raises ? vector.older : vector.d;
        uint32_t got = by_definition(unit);
        cr_expect(hc_unit_same(unit, want, got), "%s:%d: %08x, and not %08x", path, line, got,
                  want);
        compared++;
        if (!older || vector.raises)
            continue;
        got = by_definition(older);
        cr_expect(hc_unit_same(older, vector.older, got), "%s:%d, %s: %08x, and not %08x", path,
                  line, name, got, vector.older);
        compared++;
    }
    if (in)
        (void)fclose(in);
    return compared;
}

Test(golden, the_big_integers_give_the_published_bits)
{
    int n;
    int compared = 0;
    const struct hc_unit *units = hc_units(&n);
    for (int u = 0; u < n; u++) {
        char path[4096];
        if (units[u].variant_of)
            continue;
        (void)snprintf(path, sizeof path, HC_SOURCE "/src/unit/vectors/%s.txt", units[u].name);
        compared += compare(path, &units[u]);
    }
    cr_expect(compared > 18000, "%d", compared);
    hc_reference_end();
}
