/* The built program, stopped in every way: what it leaves, and that it goes on to the same bits. */
#include "cli/training/testing.h"

TestSuite(training_resume, .init = make, .fini = unmake);

/* One that trains long enough to be met; $! is its process. */
#define LONG                                                                                       \
    "train --recipe fp32 --network darknet-tiny --classes dog,ship --images 16 --batch 16 "        \
    "--epochs 10000 --checkpoint-every 1 --out "

Test(training_resume, a_checkpoint_that_is_missing_damaged_or_another_runs_is_refused)
{
    refuse(QUICK "--resume --out r", "r/checkpoint");
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp r/checkpoint whole"), 0);
    refuse(
        "train --recipe fp32 --network darknet-tiny --classes dog,ship --epochs 2 --resume --out r",
        "recipe");
    refuse(QUICK "--seed 2 --resume --out r", "seed=");
    refuse(QUICK "--set interval=9 --resume --out r", "recipe=amp, not recipe=amp+interval=9");
    refuse(QUICK "--data-seed 2 --resume --out r", "data=");
    refuse("train --recipe amp --network darknet-tiny --classes cat,dog --images 16 --batch 16 "
           "--epochs 2 --resume --out r",
           "data=");
    cr_assert_eq(shell("cp r/steps.csv rows; head -n 3 rows >r/steps.csv"), 0);
    refuse(QUICK "--resume --out r", "r/steps.csv: ends before row 2, which its checkpoint");
    cr_assert_eq(shell("cp rows r/steps.csv"), 0);
    cr_assert_eq(shell("head -c 1000 whole >r/checkpoint"), 0);
    refuse(QUICK "--resume --out r", "r/checkpoint: its header should have");
    cr_assert_eq(shell("head -c 20000 whole >r/checkpoint"), 0);
    refuse(QUICK "--resume --out r", "lies outside the file");
    cr_assert_eq(shell("cp whole r/checkpoint; printf X | dd of=r/checkpoint bs=1 seek=20000 "
                       "conv=notrunc 2>/dev/null"),
                 0);
    refuse(QUICK "--resume --out r", "checksum");
    cr_assert_eq(shell("cp whole r/checkpoint"), 0);
    ends("", QUICK "--resume --out r");
}

/* Its name is the same, and so is all else but what it computes. */
Test(training_resume, another_program_is_not_credited_with_the_runs_of_the_first)
{
    static const char first[] = "compare --recipes fp32,amp " SMALL "--out c --backend "
                                "'pipe:" HC_LOOPBACK " host' ";
    static const char second[] = "compare --recipes fp32,amp " SMALL "--out c --backend "
                                 "'pipe:" HC_LOOPBACK " exact' ";
    ends("", first);
    cr_assert_eq(shell("cp c/record.json before"), 0);
    (void)run("", second);
    char resumed[1024];
    (void)snprintf(resumed, sizeof resumed, "%s--resume", first);
    refuse(resumed, "c/fp32-seed1/checkpoint: the checkpoint of another run: its command=pipe:");
}

/* Files may grow to 64 blocks of 512 bytes: enough for nothing but the smallest. */
Test(training_resume, a_full_disk_is_one_line_and_leaves_the_old_checkpoint)
{
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp r/checkpoint whole"), 0);
    refuse_with("ulimit -f 4;", QUICK "--out r", "File too large");
    refuse_with("ulimit -f 40;", QUICK "--out r", "r/checkpoint: File too large");
    cr_assert_eq(shell("cmp -s whole r/checkpoint"), 0);
}

Test(training_resume, a_full_disk_at_the_start_leaves_the_old_results)
{
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp -r r old"), 0);
    refuse_with("ulimit -f 1;", QUICK "--out r", "File too large");
    cr_expect_eq(shell("rm r/.lock old/.lock; diff -r r old"), 0);
}

Test(training_resume, two_in_one_folder_do_not_mix)
{
    static const char script[] = AWAIT
        "'" HC_PROGRAM "' " LONG "r >/dev/null 2>&1 & "
        "await r/checkpoint $!; "
        "'" HC_PROGRAM "' " QUICK "--out r >stdout 2>stderr; status=$?; "
        "'" HC_PROGRAM "' compare --recipes fp32,amp-bf16 " SMALL "--out r >/dev/null 2>second; "
        "[ $? = 2 ] || status=7; kill -KILL $!; wait $! 2>/dev/null; "
        "grep -q \"^halfcheck: r: another halfcheck, process $! writes there\" stderr || status=8; "
        "exit $status";
    cr_assert_eq(shell(script), 2, "%s", content("stderr"));
    cr_assert_not_null(strstr(content("second"), "another halfcheck"), "%s", content("second"));
    ends("", QUICK "--out r"); /* the lock of a process that was killed is free */
}

Test(training_resume, follows_no_symbolic_link)
{
    static const char *const names[] = {"checkpoint",    "checkpoint.part", "steps.csv",
                                        "epochs.csv",    "gradients.csv",   "run.json",
                                        "run.json.part", "steps.csv.part"};
    cr_assert_eq(shell("mkdir r; echo kept >precious"), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "r/%s", names[i]);
        cr_assert_eq(symlink("../precious", path), 0);
    }
    ends("", QUICK "--out r");
    cr_expect_str_eq(content("precious"), "kept\n");
    cr_expect_eq(shell("test -z \"$(find r -type l -o -name '*.part')\""), 0);
    cr_assert_eq(shell("mv r/steps.csv moved; ln -s ../moved r/steps.csv"), 0);
    refuse(QUICK "--out r --resume", "r/steps.csv is a symbolic link");
    cr_assert_eq(shell("rm r/.lock; ln -s ../precious r/.lock"), 0);
    refuse(QUICK "--out r", "r/.lock");
}

Test(training_resume, a_run_that_was_over_keeps_the_time_it_took)
{
    const char *cut = "grep -E 'images_per_second|\"seconds|memory_bytes|\"graph' r/run.json";
    char command[200];
    ends("", QUICK "--out r");
    (void)snprintf(command, sizeof command, "%s >before; test $(wc -l <before) = 4", cut);
    cr_assert_eq(shell(command), 0);
    ends("", QUICK "--out r --resume");
    (void)snprintf(command, sizeof command, "%s | cmp - before", cut);
    cr_assert_eq(shell(command), 0);
    cr_assert_eq(shell("grep null before"), 1);
}

/* Killed a moment after its first checkpoint. */
Test(training_resume, a_killed_run_goes_on_to_the_same_bits)
{
    const char *script =
        AWAIT "set -- train --recipe amp --network darknet-tiny --classes dog,ship --images 16 "
              "--batch 16 --epochs 20 --checkpoint-every 1 --out\n"
              "'" HC_PROGRAM "' \"$@\" whole >/dev/null\n"
              "'" HC_PROGRAM "' \"$@\" cut >/dev/null &\n"
              "await cut/checkpoint $!\n"
              "kill -KILL $!\n"
              "wait $! 2>/dev/null\n"
              "[ $? = 137 ] || exit 3\n"
              "cp cut/checkpoint early\n"
              "'" HC_PROGRAM "' \"$@\" cut --resume >/dev/null\n"
              "cmp -s whole/checkpoint early && exit 4\n"
              "cmp whole/checkpoint cut/checkpoint && test $(wc -l <cut/steps.csv) = 41";
    cr_assert_eq(shell(script), 0);
}

/* The comparison is killed twice, in different runs. A run whose run.json was not written yet
   keeps the speed of its last epoch. */
Test(training_resume, a_killed_comparison_goes_on_to_the_same_runs)
{
    const char *script = AWAIT
        "set -- compare --recipes fp32:2,amp:2,amp-bf16 --network darknet-tiny --classes "
        "dog,ship "
        "--images 16 --batch 16 --epochs 4 --checkpoint-every 1 --out\n"
        "'" HC_PROGRAM "' \"$@\" whole >/dev/null\n"
        "for file in fp32-seed1/checkpoint amp-bf16-seed1/checkpoint; do\n"
        "  '" HC_PROGRAM "' \"$@\" cut --resume >/dev/null &\n"
        "  await cut/$file $!\n"
        "  kill -KILL $!\n"
        "  wait $! 2>/dev/null\n"
        "  [ $? = 137 ] || exit 3\n"
        "done\n"
        "rm -f cut/amp-seed1/run.json\n"
        "'" HC_PROGRAM "' \"$@\" cut --resume >/dev/null\n"
        "for run in fp32-seed1 fp32-seed2 amp-seed1 amp-seed2 amp-bf16-seed1; do\n"
        "  cmp whole/$run/checkpoint cut/$run/checkpoint || exit 4\n"
        "  cmp whole/$run/steps.csv cut/$run/steps.csv || exit 5\n"
        "done\n"
        "[ -e cut/amp-bf16-seed2 ] && exit 6\n"
        "cut -d, -f1-14 whole/runs.csv >a; cut -d, -f1-14 cut/runs.csv >b; cmp a b || exit 7\n"
        "grep -Eq ',nan(,|$)' b && exit 8\n"
        "grep -q '^amp,1,.*,0,[1-9][0-9.e+]*$' cut/runs.csv || exit 9\n"
        "grep -q '^amp,2,.*,[1-9][0-9]*,[1-9][0-9.e+]*$' cut/runs.csv || exit 10\n"
        "test -s cut/table.txt";
    cr_assert_eq(shell(script), 0);
}
