#include "train/parallel/testing.h"

Test(buckets, halfchecks_own_are_one_of_each_format_in_the_order_of_the_parameters)
{
    cr_expect_str_eq(buckets_of("fp32", "9s 2s 3s"), "0 1 2");
    cr_expect_str_eq(buckets_of("apex-O2", "9h 2s 2s | 7h 3s | 4b"), "1 2 4 | 5 | 0 3");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=apex-ddp-delayed", "9h 2s | 7h 3s"), "1 3 | 0 2");
}

/* allreduce_hook: a type's bucket is shipped as soon as its elements are message_size or more, and
   what is left at the end follows by type. */
Test(buckets, apex_ships_a_bucket_that_has_reached_message_size_in_elements)
{
    static const char recipe[] = "apex-O2+wrapper=apex-ddp+bucket=10";
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 5s"), "3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 4s 5s"), "4 3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 100s 1s"), "2 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "10s 100s 10s"), "2 | 1 | 0");
    /* Halves and singles fill buckets of their own. */
    cr_expect_str_eq(buckets_of(recipe, "6h 5s | 6h 5s | 6h 5s"), "5 3 | 4 2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "9h 9s"), "1 | 0");
}

Test(buckets, a_size_of_1_gives_each_its_own_and_one_beyond_all_gives_one_of_each_format)
{
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=horovod+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=apex-ddp+bucket=1073741824", "5h 1s 7h"),
                     "1 | 2 0");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=horovod+bucket=1073741824", "5h 1s 7h"),
                     "1 | 2 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp", "9999999s 1s 5s"), "2 1 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp", "5s 9999999s 1s"), "2 1 | 0");
}

/* compute_bucket_assignment_by_size with the limits 1 MiB and 25 MiB, counted in bytes and for each
   type apart. */
Test(buckets, torch_fills_a_first_bucket_of_1_MiB_and_others_of_25_MiB)
{
    static const char torch[] = "fp16-bn32+wrapper=torch-ddp";
    cr_expect_str_eq(buckets_of(torch, "262144s 1s"), "1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262144s"), "1 | 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262143s"), "1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 6553600s 262144s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(torch, "1s 6553599s 262144s"), "2 | 1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262144s 262144s"), "2 | 1 0");
    /* A half has two bytes, and a first bucket of its own. */
    cr_expect_str_eq(buckets_of(torch, "1h 524288h 1s 262144s"), "3 | 1 | 2 | 0");
    cr_expect_str_eq(buckets_of(torch, "1h 262144h"), "1 0");
    /* One tensor beyond a bucket stays whole. */
    cr_expect_str_eq(buckets_of(torch, "1s 100000000s 262144s 1s"), "3 2 | 1 | 0");
}

/* FuseResponses: what does not fit below the threshold begins the next. */
Test(buckets, horovod_closes_a_bucket_before_what_it_has_no_room_for)
{
    static const char recipe[] = "apex-O2+wrapper=horovod+bucket=40";
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 5s"), "3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 6s 5s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 100s 1s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "10h 4s 10h"), "1 | 2 0");
}

/* A layer's parameters are one flat parameter, norms in fp32 another. */
Test(buckets, fsdp_has_one_of_each_layer_and_format)
{
    cr_expect_str_eq(buckets_of("amp+wrapper=fsdp", "9s 2s | 7s 3s 1s | 4s"), "0 1 | 2 3 4 | 5");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=fsdp2", "9h 2s 2s | 7h 3s"), "0 | 1 2 | 4 | 3");
}

Test(buckets, nothing_and_gradients_of_no_elements_have_their_place)
{
    cr_expect_str_eq(buckets_of("fp32", ""), "");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp", ""), "");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp", "0s"), "0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp+bucket=4", "0s 4s 0s"), "2 1 | 0");
}
