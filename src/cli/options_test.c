#include "cli/testing.h"

Test(options, help_is_there_for_every_command, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc --help");
    cr_assert_eq(ran->status, 0);
    ran = run_shell("for c in $($hc --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p'); do"
                    " $hc $c --help | head -1; done");
    cr_assert_eq(ran->status, 0);
    cr_assert_geq(lines_of(ran->out), 6);
    cr_assert_eq(lines_of(ran->err), 0, "%s", ran->err);
    cr_assert_not_null(strstr(ran->out, "halfcheck gate - "));
}

Test(options, help_fits_80_columns, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("for c in $($hc --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p'); do"
                  " $hc $c --help; done | awk 'length > 80' | grep -v my-scaler");
    cr_assert_str_eq(ran->out, "");
}

Test(options, the_version_on_the_first_line_is_from_cmake_and_the_same_in_records,
     .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "version=$(sed -n 's/^project(halfcheck VERSION \\([0-9.]*\\) .*/\\1/p' '" HC_SOURCE
        "/CMakeLists.txt')\n"
        "$hc run rounding/after-one --json r.json >/dev/null\n"
        "grep -c \"\\\"halfcheck\\\": \\\"$version\\\",\" r.json\n"
        "commit=$(sed -n 's/.*\"commit\": \"\\(.*\\)\",/\\1/p' r.json)\n"
        "echo \"halfcheck $version${commit:+ ($commit)}\" >want\n"
        "$hc --version | head -1 >got || echo status $?\n"
        "diff want got");
    cr_expect_eq(ran->status, 0);
    cr_expect_str_eq(ran->out, "1\n", "%s", ran->out);
}

Test(options, no_command_and_an_unknown_command_are_refused, .init = enter_folder)
{
    cr_expect_eq(run_shell("$hc")->status, 2);
    expect_refusal("$hc trian", "no command 'trian'; did you mean 'train'?");
    expect_refusal("$hc exp", "did you mean 'explain'?");
    expect_refusal("$hc --version run", "--version stands alone, without 'run'");
    expect_refusal("$hc help trian", "did you mean 'train'?");
    expect_refusal("$hc help run gate", "help takes one command, not also 'gate'");
    expect_refusal("$hc hlep", "did you mean 'help'?");
}

Test(options, the_version_names_the_libraries_that_are_loaded, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc --version | sed -n 's/^glibc *//p' >got; "
                                      "getconf GNU_LIBC_VERSION | cut -d' ' -f2 >want; "
                                      "cmp got want && $hc --version | grep -c '^[a-z]* *[0-9]'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_geq(atoi(ran->out), 4, "%s", ran->out);
    cr_expect_eq(run_shell("$hc --version >a; $hc version >b; cmp a b")->status, 0);
}

Test(options, help_with_a_command_is_the_help_of_that_command, .init = enter_folder)
{
    cr_expect_eq(run_shell("$hc help run >a && $hc run --help >b && cmp a b")->status, 0);
    cr_expect_eq(run_shell("$hc help >a && $hc --help >b && cmp a b")->status, 0);
}

/* Whether the words of a command with a typing error get a suggestion. */
Test(options, what_is_misspelt_gets_a_suggestion, .init = enter_folder)
{
    static const char *const lines[][2] = {
        {"run --level standrad", "standard"},
        {"run --backend hosts", "host"},
        {"run --order torch-fusd", "torch-fused"},
        {"run --fault axpy-not-fussed", "axpy-not-fused"},
        {"selftest axpy-not-fussed", "axpy-not-fused"},
        {"list fromats", "formats"},
        {"list case", "cases"},
        {"explain op/ad", "op/add"},
        {"explain adam", "op/adam"},
        {"explain epss", "eps"},
        {"calc w=1 --in fp61", "fp64"},
        {"calc 'x = 1' --in 'fp32 cut=bf61'", "bf16"},
        {"train --recipe fp23", "fp32"},
        {"compare --recipes amp,apm", "amp"},
        {"gen scaler/fastia", "fastai"},
        {"bench sweeps", "sweep"},
        {"judge adm", "add"},
        {"find nan adm", "adam"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[128];
        char hint[128];
        (void)snprintf(line, sizeof line, "$hc %s", lines[i][0]);
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", lines[i][1]);
        expect_refusal(line, hint);
    }
}

Test(options, what_is_wrong_is_said_in_one_line, .init = enter_folder)
{
    expect_refusal("$hc run --bogus", "--bogus");
    expect_refusal("$hc run --bogus=3", "--bogus");
    expect_refusal("$hc run -x", "-x");
    expect_refusal("$hc run --sede 3", "unknown option --sede; did you mean '--seed'?");
    expect_refusal("$hc run --level quick --level standard", "--level is given twice");
    expect_refusal("$hc run --seed", "--seed needs N");
    expect_refusal("$hc run --seed=", "--seed");
    expect_refusal("$hc run --seed 12x", "12x");
    expect_refusal("$hc run --seed -1", "-1");
    expect_refusal("$hc run --seed 1.5", "1.5");
    expect_refusal("$hc run --seed 18446744073709551616", "18446744073709551616");
    expect_refusal("$hc run --level hard", "quick, standard, exhaustive");
    expect_refusal("$hc run --tap=yes", "--tap takes no value");
    expect_refusal("$hc run --json=", "--json");
    expect_refusal("$hc gate --growth 0.5", "0.5");
    expect_refusal("$hc gate --growth nan", "nan");
}

Test(options, a_seed_is_decimal_or_hexadecimal_and_options_stand_anywhere, .init = enter_folder)
{
    const char *line = "$hc run rounding/after-one --seed=0xffffffffffffffff --json r.json";
    cr_assert_eq(run_shell(line)->status, 0);
    cr_assert_not_null(strstr(run_shell("cat r.json")->out, "\"seed\": \"18446744073709551615\""));
    cr_assert_eq(run_shell("$hc run --json r.json --seed 7 -- rounding/after-one")->status, 0);
    cr_assert_not_null(strstr(run_shell("cat r.json")->out, "\"seed\": \"7\""));
}

Test(options, a_full_disk_on_standard_output_is_said, .init = enter_folder)
{
    expect_refusal("$hc list formats >/dev/full", "standard output");
}
