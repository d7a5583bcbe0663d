/* What train and compare refuse, with one line. */
#include "cli/training/testing.h"

TestSuite(training_refused, .init = make, .fini = unmake);

Test(training_refused, wrong_options_are_refused_before_anything_is_read_or_written)
{
    refuse("train", "train needs --recipe");
    refuse("train --recipe fp31", "no recipe 'fp31'; did you mean 'fp32'?");
    refuse("train --recipe none", "no recipe 'none'; there are: fp32, tf32");
    refuse("train --recipe", "--recipe needs R");
    refuse("train --recipe fp32 --backend hots",
           "no backend 'hots'; did you mean 'host'? there are: ");
    refuse("train --recipe fp32 --backend exact,host",
           "a training runs on one backend, not on exact,host");
    refuse("train --recipe fp32 --frobnicate", "unknown option --frobnicate");
    refuse("train --recipe fp32 --seed one", "--seed takes a number");
    refuse("train --recipe fp32 --seed -1", "--seed takes a number");
    refuse("train --recipe fp32 --epochs 0", "--epochs takes a whole number");
    refuse("train --recipe fp32 --epochs 1.5", "--epochs takes a whole number");
    refuse("train --recipe fp32 --batch 0", "--batch takes a whole number");
    refuse("train --recipe fp32 --lr nan", "--lr takes a number");
    refuse("train --recipe fp32 --lr 0", "--lr takes a number");
    refuse("train --recipe fp32 --network lenet", "--network takes one of darknet16, darknet-tiny");
    refuse("train --recipe fp32 more", "takes no argument 'more'");
    refuse("train --recipe fp32 --classes airplane,dgo",
           "unknown class \"dgo\"; did you mean 'dog'?");
    refuse("train --recipe fp32 --classes cat,,dog", "--classes 'cat,,dog': an element is empty");
    refuse("train --recipe fp32 --recipe amp", "--recipe is given twice");
    refuse("train --recipe fp32 --classes dog", "two or more");
    refuse("train --recipe fp32 --classes cat,dog --batch 2048", "a batch of 2048 is more");
    refuse("train --recipe fp32 --ranks 0", "--ranks takes a whole number from 1 to 64");
    refuse("train --recipe fp32 --ranks 3", "a batch of 64 is not divisible into 3 shards");
    refuse("train --recipe fp32+shards=4 --ranks 8", "4 shards are not divisible among 8 ranks");
    refuse("train --recipe fp32 --lr-find --ranks 2", "leave out --ranks");
    refuse("train --recipe fp32 --lr-find --resume", "--lr-find keeps no checkpoint");
    refuse("train --recipe fp32 --lr-find --dump 3", "--lr-find writes no step files");
    refuse("train --recipe fp32 --lr-find --load x", "leave out --lr-find");
    refuse("train --recipe fp32 --resume --load x", "leave out --resume");
    refuse("train --recipe fp32 --dump 3,x", "--dump takes steps, counted from 0, not 'x'");
    refuse("train --recipe fp32 --dump -1", "--dump takes steps, counted from 0, not '-1'");
    refuse(QUICK "--dump 3,4 --out r", "cannot dump step 4: this run has the steps 0 to 3");
    refuse(QUICK "--load nothing --out r", "nothing: ");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, wrong_overrides_are_refused_before_anything_is_read_or_written)
{
    refuse("train --recipe amp --set intervall=3",
           "no field 'intervall'; did you mean 'interval'?");
    refuse("train --recipe fp32 --set shards=64", "has only one image for each of 64 shards");
    refuse("train --recipe fp32 --set shards=-1", "shards is a whole number from 0 to 2^30");
    refuse("train --recipe amp --set eps=x", "eps is a number");
    refuse("train --recipe amp --set group_rates=0.1,-1", "group_rates is up to 8 numbers");
    refuse("train --recipe amp --set group_rates=0.1,1 --set group_decays=0",
           "recipe amp+group_rates=0.1/1+group_decays=0: group_rates and group_decays are of");
    refuse("train --recipe amp --set loss=u8", "loss is one of fp64, fp32, bf16, fp16, not 'u8'");
    refuse("train --recipe fp32 --set loss_scale=8", "recipe fp32+loss_scale=8: a loss scale");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, wrong_comparisons_are_refused_before_anything_is_read_or_written)
{
    refuse("compare", "compare needs --recipes");
    refuse("compare --recipes fp32", "two recipes or more");
    refuse("compare --recipes fp32,fp32", "named twice");
    refuse("compare --recipes fp32,", "--recipes 'fp32,': an element is empty");
    refuse("compare --recipes ' ,fp32'", "an element is empty");
    refuse("compare --recipes 'fp32, fp32'", "recipe fp32 is named twice");
    refuse("compare --recipes fp32 --recipes fp32", "recipe fp32 is named twice");
    refuse("compare --recipes 'fp32 , fp 32'", "no recipe 'fp 32'; did you mean 'fp32'?");
    refuse("compare --recipes fp32:0,amp-bf16",
           "takes R or R:SEEDS, with 1 to 1000 seeds, not 'fp32:0'");
    refuse("compare --recipes fp32:,amp-bf16", "not 'fp32:'");
    refuse("compare --recipes fp32:2x,amp-bf16", "not 'fp32:2x'");
    refuse("compare --recipes fp32,amp+group_rates=0.1,1", "no recipe '1'"); /* 0.1/1 is a list */
    refuse("compare --recipes all,amp-bf16", "recipe amp-bf16 is named twice");
    refuse("compare --recipes fp32,amp-bf16 --seeds 0", "--seeds takes a whole number");
    refuse("compare --recipes fp32,amp-bf16 --margin x", "--margin takes a number");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, data_that_is_not_cifar_10_is_named)
{
    refuse("train --recipe fp32 --data nowhere", "nowhere/batches.meta.txt: No such file");
    cr_assert_eq(shell("mkdir d; printf 'airplane\\nautomobile\\nbird\\ncat\\ndeer\\ndog\\nfrog\\n"
                       "horse\\nship\\ntruck\\n' >d/batches.meta.txt"),
                 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: No such file");
    cr_assert_eq(shell("truncate -s 30729999 d/data_batch_1.bin"), 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: truncated, 30729999 bytes");
    cr_assert_eq(shell("truncate -s 30730001 d/data_batch_1.bin"), 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: too large, 30730001 bytes");
    cr_assert_eq(shell("truncate -s 0 d/data_batch_1.bin; printf '\\012' >d/data_batch_1.bin;"
                       "truncate -s 30730000 d/data_batch_1.bin"),
                 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: record 0 has label 10");
    cr_assert_eq(shell("truncate -s 0 d/data_batch_1.bin; truncate -s 30730000 d/data_batch_1.bin"),
                 0);
    refuse("train --recipe fp32 --data d",
           "d/data_batch_1.bin: record 5000 is one \"airplane\" too many");
    refuse("train --recipe fp32 --data d/batches.meta.txt", "Not a directory");
}

Test(training_refused, a_folder_that_cannot_be_written_to_is_named)
{
    cr_assert_eq(shell("touch plain; mkdir made; touch made/file"), 0);
    refuse(QUICK "--out plain", "plain");
    refuse(QUICK "--out plain/below", "cannot make the folder plain/below: Not a directory");
    refuse(QUICK "--out /proc/nothing", "cannot make the folder /proc/nothing");
    refuse(QUICK "--out /proc/self", "cannot write into /proc/self");
    refuse("compare --recipes fp32,amp " SMALL "--out /proc/self", "cannot write into /proc/self");
}
