/* The plug-in's own code (device/) on the stand-in for the CUDA runtime and the libraries, which
   fails on demand (standin.h). */
#include "cli/testing.h"

#include "check/record/record.h"

#ifdef HC_STANDIN
#include <cuda_runtime_api.h>

#define WITH "CUDA_HOME=" HC_STANDIN " HALFCHECK_CUDA_PLUGIN=" HC_STANDIN "/standin.so "

static void expect_absent(const char *standin, const char *line)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   WITH
                   "HALFCHECK_STANDIN=%s $hc list backends | grep -P '^cuda\\tno\\t.*\\t%s\\t-$'",
                   standin, line);
    cr_expect_eq(run_shell(command)->status, 0, "%s", command);
    (void)snprintf(command, sizeof command,
                   WITH "HALFCHECK_STANDIN=%s $hc run op/add/fp32/1/normal --backend cuda",
                   standin);
    const struct ran *ran = run_shell(command);
    cr_expect_eq(ran->status, 2, "%s", command);
    cr_expect_eq(lines_of(ran->err), 1, "%s", ran->err);
}

Test(standin, a_device_that_cannot_be_used_is_absent_for_one_reason, .init = enter_folder)
{
    expect_absent("driver=0", "no NVIDIA driver");
    expect_absent("devices=0", "the NVIDIA driver finds no GPU");
    expect_absent("driver=11080", "the NVIDIA driver is too old: it has CUDA 11.8, needed .*");
    expect_absent("capability=75",
                  "none, a stand-in of the tests has compute capability 7.5, needed 8.0");
    expect_absent("cudaGetDeviceCount:1=999", "some error");
    expect_absent("cudaGetDeviceProperties:1=999", "some error");
}

/* The plug-in with the real runtime, which finds a driver of this version, or the stand-in. */
static void expect_driver(int version, const char *line)
{
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "LD_LIBRARY_PATH=" HC_STANDIN "/driver HALFCHECK_STANDIN=driver=%d "
                   "$hc list backends | grep -P '^cuda\\tno\\t.*\\t%s\\t-$'",
                   version, line);
    cr_expect_eq(run_shell(command)->status, 0, "%s", command);
}

Test(standin, a_driver_older_than_the_toolkit_is_named_with_the_one_needed, .init = enter_folder)
{
    int major = CUDART_VERSION / 1000;
    char line[160];
    (void)snprintf(line, sizeof line,
                   "the NVIDIA driver is too old: it has CUDA %d.8.*, needed %d.0 \\(driver %s\\)",
                   major - 1, major, major == 12 ? "525" : "580");
    if (major == 12 || major == 13)
        expect_driver((major - 1) * 1000 + 80, line);
    expect_driver(major * 1000, "the NVIDIA driver finds no GPU");
    expect_driver(0, "no NVIDIA driver");
}

Test(standin, runs_cases_through_copies_launches_and_libraries, .init = enter_folder)
{
    struct hc_record record;
    const struct ran *ran =
        run_shell(WITH "$hc run 'op/add/*' 'op/gemm/fp16/*' 'op/conv2d/fp16/1x3*' 'op/sum/fp16*'"
                       " --backend cuda --json a.json");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_assert_eq(hc_record_read("a.json", &record), HC_OK, "%s", hc_message());
    cr_expect_gt(record.count, 20);
    cr_expect_str_eq(json_string_value(json_object_get(record.environment, "gpu")),
                     "none, a stand-in of the tests");
    cr_expect_str_eq(json_string_value(json_object_get(record.environment, "capability")), "9.0");
    cr_expect_str_eq(json_string_value(json_object_get(record.environment, "cudnn")), "0.0.0");
    hc_record_free(&record);
}

/* The device's memory is allocated anew only for a call that needs more than all before it; each
   call copies to the device and back, and waits once. The functions would fail at these numbers. */
Test(standin, a_call_allocates_nothing_and_waits_once, .init = enter_folder)
{
    const struct ran *ran =
        run_shell(WITH "HALFCHECK_STANDIN=cudaMalloc:30=2 $hc run 'op/add/*' --backend cuda"
                       " --no-fingerprint");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

/* The third allocation is of a block that grows. */
Test(standin, where_twice_the_memory_does_not_fit_what_is_needed_is_allocated, .init = enter_folder)
{
    const struct ran *ran =
        run_shell(WITH "HALFCHECK_STANDIN=cudaMalloc:3=2 $hc run 'op/add/fp16/*' --backend cuda"
                       " --no-fingerprint");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

/* A failure ends in status 2 and one line for each case, whatever is left to run. */
static void expect_errors(const char *standin, const char *line)
{
    char command[1024];
    struct hc_record record;
    (void)snprintf(command, sizeof command,
                   WITH "HALFCHECK_STANDIN=%s $hc run 'op/add/fp16/*' 'op/gemm/fp16/*'"
                        " --backend cuda --no-fingerprint --json a.json",
                   standin);
    const struct ran *ran = run_shell(command);
    cr_assert_eq(ran->status, 2, "%s: %d%s%s", standin, ran->status, ran->out, ran->err);
    cr_expect_eq(lines_of(ran->err), 1, "%s", ran->err);
    cr_assert_eq(hc_record_read("a.json", &record), HC_OK, "%s", hc_message());
    int errors = 0;
    for (int i = 0; i < record.count; i++) {
        const struct hc_row *row = &record.rows[i];
        cr_expect(row->verdict == HC_PASS || row->verdict == HC_ERROR, "%s", row->name);
        cr_expect_null(strchr(row->note, '\n'));
        errors += row->verdict == HC_ERROR && strstr(row->note, line);
    }
    cr_expect_gt(errors, 0, "%s: no '%s'", standin, line);
    hc_record_free(&record);
}

Test(standin, what_fails_while_cases_run_is_an_error_in_one_line, .init = enter_folder)
{
    expect_errors("cudaMalloc:2=2", "on the device: 1000 of its 2000 are free");
    expect_errors("cudaMemcpyAsync:5=1", "cuda: upload: some error");
    expect_errors("cudaStreamSynchronize:3=1", "load: some error");
    expect_errors("cudaLaunchKernel:4=701", "cuda: elementwise: some error");
}

Test(standin, a_lost_device_is_named_by_every_case_after_it, .init = enter_folder)
{
    expect_errors("cudaLaunchKernel:4=700",
                  "the device is lost: elementwise: an illegal memory access was encountered");
    expect_errors("cudaStreamSynchronize:7=719", "cuda: the device is lost: ");
}

static void expect_no_start(const char *command, const char *standin, const char *word)
{
    char line[1024];
    (void)snprintf(line, sizeof line, WITH "HALFCHECK_STANDIN=%s $hc %s", standin, command);
    expect_refusal(line, word);
}

Test(standin, a_queue_that_cannot_be_opened_ends_the_run, .init = enter_folder)
{
    static const char run[] = "run op/add/fp32/1/normal --backend cuda";
    expect_no_start(run, "cudaSetDevice:1=46", "cuda: taking device 0");
    expect_no_start(run, "cudaStreamCreateWithFlags:1=2", "cuda: making a stream: out of memory");
    expect_no_start(run, "cudaMalloc:1=2", "cuda: cuBLAS's workspace: out of memory");
}

/* The device cannot be taken, so that the line names it. */
static void expect_device(const char *variables, int device)
{
    char line[1024];
    char word[64];
    (void)snprintf(line, sizeof line,
                   "%s " WITH "HALFCHECK_STANDIN=devices=2,cudaSetDevice:1=46 "
                   "$hc run op/add/fp32/1/normal --backend cuda",
                   variables);
    (void)snprintf(word, sizeof word, "cuda: taking device %d: ", device);
    expect_refusal(line, word);
}

Test(standin, processes_of_a_machine_take_a_device_each, .init = enter_folder)
{
    expect_device("", 0);
    expect_device("OMPI_COMM_WORLD_LOCAL_RANK=1", 1);
    expect_device("SLURM_LOCALID=3", 1);
    expect_device("MPI_LOCALRANKID=2", 0);
}

#define TRAIN                                                                                      \
    "train --recipe amp --network darknet-tiny --classes dog,ship --images 8 --batch 4 --epochs 1"

Test(standin, trains_with_captured_steps_to_the_bits_of_the_emulation, .init = enter_folder)
{
    const struct ran *ran = run_shell(WITH "$hc " TRAIN " --backend cuda --out a");
    cr_expect_not_null(strstr(ran->out, "captured"), "%s%s", ran->out, ran->err);
    (void)run_shell(WITH "$hc " TRAIN " --backend cuda-emulated --out b");
    cr_expect_eq(run_shell("grep -q , a/steps.csv && cmp a/steps.csv b/steps.csv")->status, 0);
}

Test(standin, a_training_ends_with_the_line_of_what_failed, .init = enter_folder)
{
    static const char train[] = TRAIN " --backend cuda --out t";
    expect_no_start(train, "devices=0", "the NVIDIA driver finds no GPU");
    expect_no_start(train, "cudaMalloc:20=2", "are free");
    expect_no_start(train, "cudaMemcpyAsync:30=719", "cuda: upload");
    expect_no_start(train, "cudaLaunchKernel:10=700", "illegal memory access");
    expect_no_start(train, "cudaGraphLaunch:2=700", "illegal memory access");
}

#endif
