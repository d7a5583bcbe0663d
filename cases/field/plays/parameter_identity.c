/* An optimizer that holds the tensors of yesterday.

   A parameter has an identity and a storage. A cast gives it a new storage. PyTorch's modules keep
   the parameter's identity meanwhile; other frameworks, wrappers and flat copies do not. An
   optimizer that was made before the cast may go on stepping what it was given: gradients arrive,
   its weights move, and the network, which reads the new storage, never learns. No message appears,
   and the loss is flat.

   The rule of thumb: cast and move a model first, then make the optimizer; and after a step look at
   a weight of the network, not at one of the optimizer. Both arms run the trainer's own parameters
   and update; an update is given a parameter that keeps the storage from before the cast, or the
   network's. */
#include "cases/fixture/bug.h"
#include "cases/fixture/update_fixture.h"

enum { STEPS = 10 };

/* Each step adds 1/8, and no number is rounded. Half a unit times the first scale, 65536, is no
   overflow. */
static bool train(struct hc_check *check, bool before, double *network, double *optimizer)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "w", HC_ROLE_WEIGHT, 1, 1);
    if (fixture.failed)
        return hc_fixture_close(&fixture);
    struct hc_parameter given = fixture.parameter[0];
    if (before) {
        (void)hc_storage_hold(given.storage);
        fixture.list[0] = &given;
        fixture.failed = !hc_check_ok(check, hc_parameter_to(&fixture.parameter[0], HC_FP16));
    }
    hc_fixture_start(&fixture, &recipe);
    for (int step = 0; step < STEPS; step++) {
        hc_fixture_gradients(&fixture, -0.5);
        hc_fixture_step(&fixture, 0.25, 0);
    }
    struct hc_storage *read = fixture.parameter[0].storage;
    struct hc_tensor w = hc_check_vector(check, read->format, 1);
    *optimizer = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    if (!fixture.failed)
        fixture.failed = !hc_check_ok(check, hc_storage_read(read, w.data));
    *network = hc_tensor_get(&w, 0);
    bool closed = hc_fixture_close(&fixture);
    if (before)
        hc_parameter_close(&given);
    return closed;
}

static void cast_late(struct hc_check *check, struct hc_exhibits *shown)
{
    double network[2] = {0};
    double optimizer[2] = {0};
    for (int fixed = 0; fixed < 2; fixed++)
        if (!train(check, !fixed, &network[fixed], &optimizer[fixed]))
            return;
    hc_exhibits_add(shown, "weight of the optimizer", HC_FP32, optimizer[0], optimizer[1], 2.25, 0);
    hc_exhibits_add(shown, "weight of the network", HC_FP16, network[0], network[1], 2.25, 0);
}

static const struct hc_case cases[] = {
    HC_BUG(
        "field/parameter-identity/optimizer-before-cast",
        "The optimizer was made before model.half() or model.cuda(): training runs, and the "
        "model never changes.",
        "namisan/mt-dnn PR 40, 'Moving model.cuda before the optimizer construction', "
        "https://github.com/namisan/mt-dnn/pull/40; pytorch/pytorch issues 7844 and 69214; "
        "PyTorchLightning/pytorch-lightning PR 554",
        .play = cast_late, .buggy = {.prints = "-, 1 exact"}, .fault = "model-copy-kept",
        .correction =
            "The PR quotes PyTorch's documentation, and the sentence is wrong: Module.cuda() and "
            "half() give the same Parameter new data, so that the optimizer goes on stepping the "
            "model (pytorch/pytorch issue 7844). It needs something that holds the old tensor.",
        .lesson = "Cast the model first and make the optimizer from the parameters that it has "
                  "then."),
};

HC_CASES(field_plays_parameter_identity, cases);
