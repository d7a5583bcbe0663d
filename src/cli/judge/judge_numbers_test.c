/* Numbers of a question that may be meant as they were given or as fp32 holds them. */
#include "cli/judge/testing.h"

#include <math.h>

TestSuite(judge_numbers, .init = enter_folder);

/* The new m is 0.9 m + 0.1 g, in fp32: fl(fl(0.9 m) + fl(0.1 g)). It is 5.4 u (0.1 g) from the real
   value with fp32's 0.9, whose 1 - 0.9 is 4 u larger, and nothing in fp32 errs by more than 5. */
Test(judge_numbers, beta1_may_be_as_it_was_given_or_as_fp32)
{
    const float zero[] = {0};
    const float m[] = {0x1.8d07f6p-10F};
    const float g[] = {0x1.4347a4p+3F};
    const float given = 0x1.02f90ap0F;
    const float rounded = 0x1.02f910p0F;
    const float wrong[] = {0x1.02f918p0F, 0x1.02f900p0F};
    const char *line = "$hc judge adam --in zero.npy --in g.npy --in m.npy --in zero.npy "
                       "--set lr=0.5 --set beta1=0.9 --out new_m=%s";
    char command[512];
    write_npy("zero.npy", "<f4", "(1,)", zero, 4);
    write_npy("g.npy", "<f4", "(1,)", g, 4);
    write_npy("m.npy", "<f4", "(1,)", m, 4);
    write_npy("given.npy", "<f4", "(1,)", &given, 4);
    write_npy("rounded.npy", "<f4", "(1,)", &rounded, 4);
    (void)snprintf(command, sizeof command, line, "given.npy");
    const char *const as_given[] = {"PASS  adam", "\nbeta1 as given\n", "hyper.beta1 = 0.9,", NULL};
    prints(command, 0, as_given);
    (void)snprintf(command, sizeof command, line, "rounded.npy");
    const char *const as_fp32[] = {"PASS  adam", "\nbeta1 as fp32\n", NULL};
    prints(command, 0, as_fp32);
    (void)snprintf(command, sizeof command, line, "wrong.npy --keep k --json judged.json");
    for (int i = 0; i < 2; i++) {
        write_npy("wrong.npy", "<f4", "(1,)", &wrong[i], 4);
        const char *const fails[] = {"FAIL  adam", "it fails under the other reading, too", NULL};
        prints(command, 1, fails);
        prints("$hc judge k", 1, fails);
    }
    const struct ran *ran = run_shell("grep -q '\"numbers\": \"as' judged.json");
    cr_expect_eq(ran->status, 0);
    const char *const none[] = {"arithmetic=fp32 (default)\n\nnew_m", NULL};
    prints("$hc judge adam --in zero.npy --in zero.npy --in zero.npy --in zero.npy --set lr=0.5 "
           "--set beta1=0.5 --out new_m=zero.npy",
           0, none);
}

/* A slope or alpha of 0.1 may be the number that was given, or fp32's 0.1, which is larger: with
   y = -fp32's 0.1 the sum is 0, or -1.49e-9. 1.3e-8 is neither. 0.1 * x lies just below the middle
   of two neighbours, and fp32's 0.1 * x above it: both are right. */
Test(judge_numbers, alpha_and_slope_may_be_as_they_were_given)
{
    const float one[] = {1};
    const float y[] = {-0.1F};
    const float sums[] = {0, (float)(0.1 - (double)0.1F), 1.3e-8F};
    write_npy("one.npy", "<f4", "(1,)", one, 4);
    write_npy("y.npy", "<f4", "(1,)", y, 4);
    const char *const none[] = {NULL};
    for (int i = 0; i < 3; i++) {
        write_npy("out.npy", "<f4", "(1,)", &sums[i], 4);
        prints("$hc judge axpy --in one.npy --in y.npy --out out.npy --set alpha=0.1", i == 2,
               none);
    }
    prints("$hc judge axpy --in one.npy --in y.npy --out out.npy --set alpha=0x1.99999ap-4", 1,
           none);
    int differ = 0;
    for (int i = 1; i < 100 && differ < 2; i++) {
        const float x[] = {-1 - (float)i * 0x1p-23F};
        const float single[] = {(float)((double)x[0] * (double)0.1F)};
        const float given[] = {(float)((double)x[0] * 0.1)};
        const float beside[] = {nextafterf(given[0], given[0] > single[0] ? 0 : -1)};
        if (single[0] == given[0])
            continue;
        differ++;
        write_npy("x.npy", "<f4", "(1,)", x, 4);
        write_npy("single.npy", "<f4", "(1,)", single, 4);
        write_npy("given.npy", "<f4", "(1,)", given, 4);
        write_npy("beside.npy", "<f4", "(1,)", beside, 4);
        prints("$hc judge leaky_relu --in x.npy --out single.npy --set slope=0.1", 0, none);
        prints("$hc judge leaky_relu --in x.npy --out given.npy --set slope=0.1", 0, none);
        prints("$hc judge leaky_relu --in x.npy --out given.npy --set slope=0x1.99999ap-4", 1,
               none);
        prints("$hc judge leaky_relu --in x.npy --out beside.npy --set slope=0.1", 1, none);
    }
    cr_expect_gt(differ, 0);
}

/* In fp64 fp32's -0.3 is another number: -0.3 * 3 is 1.2e-8 from fp32's -0.3 * 3, which no
   rounding of fp64 explains. Both are right, and nothing between them is. So it is with a slope,
   and with the eps and the momentum of a norm. */
Test(judge_numbers, in_fp64_parameters_may_be_as_they_were_given_or_as_fp32)
{
    const double zero[] = {0};
    const double c[] = {3};
    const double sums[] = {-0.3 * 3, (double)-0.3F * 3, 0};
    const char *const rows[][3] = {{"PASS  gemm", "\nbeta as given\n", NULL},
                                   {"PASS  gemm", "\nbeta as fp32\n", NULL},
                                   {"FAIL  gemm", "it fails under the other reading, too", NULL}};
    write_npy("zero.npy", "<f8", "(1,1)", zero, 8);
    write_npy("c.npy", "<f8", "(1,1)", c, 8);
    for (int i = 0; i < 3; i++) {
        double sum = i < 2 ? sums[i] : (sums[0] + sums[1]) / 2;
        write_npy("out.npy", "<f8", "(1,1)", &sum, 8);
        prints("$hc judge gemm --in zero.npy --in zero.npy --in c.npy --out out.npy "
               "--set beta=-0.3",
               i == 2, rows[i]);
    }
    const double x[] = {-3};
    const double one[] = {1};
    const double leaked[] = {-3 * 0.1, -3 * (double)0.1F, -3 * 0.1000000005};
    const double mean[] = {0.1, (double)0.1F, 0.1000000005};
    const char *const none[] = {NULL};
    write_npy("x.npy", "<f8", "(1,)", x, 8);
    write_npy("one.npy", "<f8", "(1,)", one, 8);
    write_npy("nought.npy", "<f8", "(1,)", zero, 8);
    write_npy("image.npy", "<f8", "(1,1,1,1)", one, 8);
    for (int i = 0; i < 3; i++) {
        write_npy("leaked.npy", "<f8", "(1,)", &leaked[i], 8);
        write_npy("mean.npy", "<f8", "(1,)", &mean[i], 8);
        prints("$hc judge leaky_relu --in x.npy --out leaked.npy --set slope=0.1", i == 2, none);
        prints("$hc judge bn_train --in x=image.npy --in gamma=one.npy --in beta=one.npy "
               "--in mean=nought.npy --in variance=one.npy --out new_mean=mean.npy "
               "--set momentum=0.1",
               i == 2, none);
    }
}
