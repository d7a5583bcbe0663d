#include "train/run/state.h"

#include <criterion/criterion.h>
#include <string.h>

#include "train/run/trainer_inner.h"

/* Whatever stands in the struct comes back, each byte of it: no field is left out of the list, and
   none stands in it twice. */
Test(state_fields, the_list_names_every_byte_of_the_totals_once)
{
    static unsigned char want[1 << 16];
    static unsigned char got[sizeof want];
    static unsigned char file[sizeof want];
    size_t size = sizeof(struct hc_run_totals);
    cr_assert_leq(size, sizeof want);
    for (size_t i = 0; i < size; i++)
        want[i] = (unsigned char)(i * 37 + 11);
    hc_state_pack(hc_run_totals_fields, want, file);
    hc_state_unpack(hc_run_totals_fields, file, got);
    cr_expect_eq(hc_state_bytes(hc_run_totals_fields), size);
    cr_expect_eq(memcmp(want, got, size), 0);
}

Test(state_fields, the_list_names_every_counter_once)
{
    int seen[sizeof(struct hc_counters)] = {0};
    for (int f = 0; f < HC_COUNTER_FIELDS; f++) {
        const struct hc_counter_field *field = &hc_counter_fields[f];
        for (int b = 0; b < hc_formats[field->format].bytes; b++)
            seen[field->offset + (size_t)b]++;
    }
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        cr_expect_eq(seen[i], 1, "byte %zu", i);
}

Test(state_fields, numbers_are_little_endian)
{
    static const struct hc_state_field fields[] = {{8, 8, 1}, {0, 4, 2}, {0, 0, 0}};
    static const unsigned char want[] = {8, 7, 6, 5, 4, 3, 2, 1, 4, 3, 2, 1, 254, 255, 255, 255};
    struct {
        int32_t narrow[2];
        int64_t wide;
    } numbers = {{0x01020304, -2}, 0x0102030405060708};
    unsigned char got[sizeof want];
    cr_assert_eq(hc_state_bytes(fields), sizeof want);
    hc_state_pack(fields, &numbers, got);
    cr_expect_arr_eq(got, want, sizeof want);
}
