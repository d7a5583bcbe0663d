/* The program where memory is short: one line and status 2, whatever it was doing; never a
   signal. */
#include "cli/testing.h"

/* The sanitizers map more than any limit leaves. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* From too little to start (the loader's own message, status 127) to enough for two threads: with
   many the stacks alone are more, and libgomp ends the program itself. */
static const int limits[] = {60, 80, 120, 160, 200};

static void expect_an_orderly_end(const char *what)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, "ulimit -v %d; OMP_NUM_THREADS=2 $hc %s", limits[i] << 10,
                       what);
        const struct ran *ran = run_shell(line);
        bool whole = ran->status == 0;
        bool short_of_memory = ran->status == 2;
        cr_expect(whole || short_of_memory || ran->status == 127, "%s: status %d, %s", line,
                  ran->status, ran->err);
        cr_expect(ran->status != 2 || lines_of(ran->err) == 1, "%s: %s", line, ran->err);
    }
}

Test(limits, a_run_short_of_memory_ends_with_status_2, .init = enter_folder, .disabled = SANITIZED)
{
    expect_an_orderly_end("run 'op/gemm/*' 'op/conv2d*' 'op/bn_*' --backend host");
}

Test(limits, a_training_short_of_memory_ends_with_status_2, .init = enter_folder,
     .disabled = SANITIZED)
{
    expect_an_orderly_end("train --recipe amp --images 8 --epochs 1 --out t");
}

/* Limits in small steps, so that some of them end memory while the list of cases is made. Below
   that the loader or libgomp says why the program does not begin. */
Test(limits, a_list_of_cases_short_of_memory_ends_with_status_2, .init = enter_folder,
     .disabled = SANITIZED)
{
    bool met = false;
    for (int kib = 40000; kib <= 70000; kib += 250) {
        char line[64];
        (void)snprintf(line, sizeof line, "ulimit -v %d; $hc list cases", kib);
        const struct ran *ran = run_shell(line);
        bool begins = ran->status != 127 && !strstr(ran->err, "libgomp");
        cr_expect(!begins || ran->status == 0 || ran->status == 2, "%s: status %d, %s", line,
                  ran->status, ran->err);
        cr_expect(ran->status != 2 || lines_of(ran->err) == 1, "%s: %s", line, ran->err);
        met = met || ran->status == 0;
    }
    cr_expect(met, "no limit was enough");
}
