#include "comm/plugin.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/testing.h"
#include "comm/started.h"

static void expect_none(const char *path, const char *words)
{
    cr_expect_null(hc_comm_plugin_load(path), "%s", path);
    cr_expect_not_null(strstr(hc_message(), words), "%s: %s", path, hc_message());
}

Test(comm_plugin, is_refused_in_one_line_if_it_is_missing_or_another_thing, .init = enter_folder)
{
    write_text("text.so", "no shared object\n");
    expect_none("./none.so", "./none.so cannot be read");
    expect_none("./text.so", "text.so");
    expect_none(HC_NO_PLUGIN, "is no plug-in for ranks");
    expect_none(HC_OTHER_MPI, "this program takes version");
    expect_none(HC_POOR_MPI, "lacks close, send_receive");
}

Test(comm_plugin, that_is_cut_short_is_refused, .init = enter_folder)
{
    FILE *whole = fopen(HC_OTHER_MPI, "rb");
    static char bytes[1 << 20];
    cr_assert_not_null(whole);
    size_t n = fread(bytes, 1, sizeof bytes, whole);
    (void)fclose(whole);
    cr_assert(n > 4096 && n < sizeof bytes);
    for (size_t part = 1; part < 16; part++) {
        FILE *cut = fopen("cut.so", "wb");
        cr_assert_eq(fwrite(bytes, 1, n * part / 16, cut), n * part / 16);
        (void)fclose(cut);
        expect_none("./cut.so", "is cut short");
    }
}

/* One of several, and what the ranks need is not there: no rank may think that it is alone. */
Test(comm_plugin, without_which_a_rank_is_no_rank, .timeout = 20)
{
    (void)setenv("PMI_SIZE", "2", 1);
    (void)setenv("PMI_RANK", "0", 1);
    (void)setenv("HALFCHECK_WATCH", "0", 1); /* the rank would be a child */
    (void)setenv("HALFCHECK_MPI_PLUGIN", "/nowhere/halfcheck-mpi.so", 1);
    cr_expect_null(hc_comm_world());
    cr_expect_str_eq(hc_message(), "/nowhere/halfcheck-mpi.so cannot be read");
}

/* UCX, a library of Open MPI, catches SIGHUP: a rank that is told to end by it would live on. */
Test(comm_plugin, that_takes_a_signal_gives_it_back, .timeout = 20)
{
    (void)setenv("PMI_SIZE", "2", 1);
    (void)setenv("PMI_RANK", "0", 1);
    (void)setenv("HALFCHECK_WATCH", "0", 1); /* the rank would be a child */
    (void)setenv("HALFCHECK_MPI_PLUGIN", HC_POOR_MPI, 1);
    (void)signal(SIGHUP, SIG_DFL);
    cr_expect_null(hc_comm_world());
    cr_expect_not_null(strstr(hc_message(), "lacks close, send_receive"), "%s", hc_message());
    cr_expect_eq(signal(SIGHUP, SIG_DFL), SIG_DFL);
}

/* A variable that says nothing is no name of a file. */
Test(comm_plugin, whose_name_is_empty_is_refused)
{
    char path[256];
    (void)setenv("HALFCHECK_MPI_PLUGIN", "", 1);
    cr_expect_null(hc_comm_plugin_mpi(path, sizeof path));
    cr_expect_str_eq(hc_message(), "HALFCHECK_MPI_PLUGIN is empty; it names the plug-in's file");
}

Test(started, is_refused_as_what_it_cannot_be)
{
    (void)setenv("HALFCHECK_COMM", "selfish", 1);
    cr_expect_null(hc_comm_world());
    cr_expect_str_eq(hc_message(), "HALFCHECK_COMM is 'selfish'; it can only be 'self'");
}

static void expect_started(const char *const (*variables)[2], int size, int rank, int on_one_host)
{
    static const char *const all[] = {"OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "PMI_SIZE",
                                      "PMI_RANK",
                                      "MPI_LOCALNRANKS",
                                      "SLURM_NTASKS",
                                      "SLURM_PROCID",
                                      "SLURM_STEP_ID",
                                      "SLURM_STEP_NUM_TASKS",
                                      "SLURM_NNODES",
                                      "SLURM_STEP_NUM_NODES",
                                      "HALFCHECK_COMM"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)unsetenv(all[i]);
    for (int i = 0; variables[i][0]; i++)
        (void)setenv(variables[i][0], variables[i][1], 1);
    struct hc_started got = hc_started();
    cr_expect_eq(got.size, size, "%s: %d", variables[0][0], got.size);
    cr_expect_eq(got.rank, rank, "%s: %d", variables[0][0], got.rank);
    cr_expect_eq(got.on_one_host, on_one_host, "%s", variables[0][0]);
}

/* The variables are those that Open MPI 4, MPICH and Slurm documents say. */
Test(started, is_as_the_environment_says)
{
    static const char *const nothing[][2] = {{NULL, NULL}};
    static const char *const mpirun[][2] = {{"OMPI_COMM_WORLD_SIZE", "4"},
                                            {"OMPI_COMM_WORLD_RANK", "3"},
                                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                            {NULL, NULL}};
    static const char *const two_hosts[][2] = {{"OMPI_COMM_WORLD_SIZE", "4"},
                                               {"OMPI_COMM_WORLD_RANK", "3"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                               {NULL, NULL}};
    static const char *const pmi[][2] = {{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {NULL, NULL}};
    static const char *const srun[][2] = {{"SLURM_NTASKS", "8"},         {"SLURM_PROCID", "5"},
                                          {"SLURM_STEP_ID", "0"},        {"SLURM_NNODES", "2"},
                                          {"SLURM_STEP_NUM_TASKS", "6"}, {NULL, NULL}};
    static const char *const sbatch[][2] = {
        {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {NULL, NULL}};
    static const char *const alone[][2] = {{"OMPI_COMM_WORLD_SIZE", "4"},
                                           {"OMPI_COMM_WORLD_RANK", "3"},
                                           {"HALFCHECK_COMM", "self"},
                                           {NULL, NULL}};
    static const char *const nonsense[][2] = {
        {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "four"}, {NULL, NULL}};
    expect_started(nothing, 1, 0, 1);
    expect_started(mpirun, 4, 3, 1);
    expect_started(two_hosts, 4, 3, 0);
    expect_started(pmi, 2, 1, 0);
    expect_started(srun, 6, 5, 0);
    expect_started(sbatch, 1, 0, 1);
    expect_started(alone, 1, 0, 1);
    expect_started(nonsense, 1, 0, 1);
}
