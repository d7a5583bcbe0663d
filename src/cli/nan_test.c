/* The sign of a NaN says nothing: no command prints or writes it. (x86 sets it in 0/0.) */
#include "cli/testing.h"

#define SMALL "--network darknet-tiny --classes dog,ship --images 32 --batch 16 "

/* Runs the command, and looks for signs in what it said and in the files that it left below
   out/. */
static void expect_no_sign(const char *line, const char *words)
{
    const struct ran *ran = run_shell(line);
    cr_expect_neq(ran->status, 2, "%s: %s", line, ran->err);
    cr_expect(strstr(ran->out, words) || strstr(ran->err, words), "%s: no '%s' in %s%s", line,
              words, ran->out, ran->err);
    cr_expect_null(strstr(ran->out, "-nan"), "%s: %s", line, ran->out);
    cr_expect_null(strstr(ran->err, "-nan"), "%s: %s", line, ran->err);
    ran = run_shell("grep -rIe -nan out --exclude='*.svg' --exclude=checkpoint | head -3");
    cr_expect_str_eq(ran->out, "", "%s: %s", line, ran->out);
}

static void make_record(void)
{
    enter_folder();
    cr_assert_eq(
        run_shell("mkdir out; $hc run rounding/after-one --backend exact --json good.json && sed"
                  " 's/\"error\": \"[^\"]*\"/\"error\": \"-nan\"/; s/\"PASS\"/\"FAIL\"/' good.json"
                  " >bad.json; ! cmp -s good.json bad.json")
            ->status,
        0);
}

Test(nan, has_no_sign_in_what_is_made_of_records, .init = make_record)
{
    expect_no_sign("$hc gate --baseline good.json bad.json", "FAIL");
    expect_no_sign("$hc report bad.json --out out && cat out/report.html", "error NaN, bound");
}

Test(nan, has_no_sign_in_what_trainings_say, .init = enter_folder)
{
    expect_no_sign("$hc train --recipe fp16-pure --epochs 1 " SMALL, "nan");
    expect_no_sign("$hc train --recipe fp16-pure --lr-find " SMALL, "fp16-pure");
    expect_no_sign("$hc compare --recipes fp32,fp16-pure --epochs 1 " SMALL, "NaN from step 1");
    expect_no_sign("$hc compare --drift --steps 2 --out out/drift --recipes fp16-pure " SMALL,
                   "nan");
    if (run_shell("command -v gnuplot")->status == 0)
        cr_expect_eq(run_shell("grep -q '>NaN<' out/drift/attribution.svg")->status, 0);
}
