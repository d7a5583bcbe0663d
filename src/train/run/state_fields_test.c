#include "train/run/state_fields.h"

#include <criterion/criterion.h>
#include <string.h>

#include "train/run/trainer_inner.h"

/* Whatever stands in the struct comes back, each byte of it: no field is left out of the list, and
   none stands in it twice. */
static void expect_whole(const struct hc_state_field *first, const struct hc_state_field *second,
                         size_t size)
{
    static unsigned char want[1 << 16];
    static unsigned char got[sizeof want];
    static unsigned char file[sizeof want];
    cr_assert_leq(size, sizeof want);
    for (size_t i = 0; i < size; i++)
        want[i] = (unsigned char)(i * 37 + 11);
    hc_state_pack(first, want, file);
    hc_state_unpack(first, file, got);
    size_t bytes = hc_state_bytes(first);
    if (second) {
        hc_state_pack(second, want, file);
        hc_state_unpack(second, file, got);
        bytes += hc_state_bytes(second);
    }
    cr_expect_eq(bytes, size);
    cr_expect_eq(memcmp(want, got, size), 0);
}

Test(state_fields, the_lists_name_every_byte_of_their_structs_once)
{
    expect_whole(hc_step_count_fields, hc_scaler_count_fields, sizeof(struct hc_counters));
    expect_whole(hc_run_totals_fields, NULL, sizeof(struct hc_run_totals));
}

Test(state_fields, numbers_are_little_endian)
{
    static const unsigned char want[] = {1, 2, 3, 4, 0, 0, 0, 0, 8, 7, 6, 5, 254, 255, 255, 255};
    struct hc_counters counters = {.steps = 0x04030201, .skipped = 0x05060708, .found = -2};
    unsigned char got[sizeof want];
    cr_assert_eq(hc_state_bytes(hc_step_count_fields), sizeof want);
    hc_state_pack(hc_step_count_fields, &counters, got);
    cr_expect_arr_eq(got, want, sizeof want);
}
