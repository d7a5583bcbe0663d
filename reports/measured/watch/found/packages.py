"""One training step of models of public packages, with random weights and small sizes, each of
them watched.

    python3 packages.py NAME PRECISION      prints what the watch says
    python3 packages.py --list              the names
    python3 packages.py --all DIR [PRECISION...]    all of them, into DIR
    python3 packages.py --summary DIR       what they said there, in short

A package that is not there is left out, with a line."""

import os
import signal
import sys
import warnings

import torch
from torch import nn
import torch.nn.functional as F

PRECISIONS = ("fp32", "autocast", "bf16")
MODELS = {}


def model(make):
    """Takes a model into the list: a function of a generator of random numbers that returns a
    module, and a loss that is computed with it."""
    MODELS[make.__name__] = make
    return make


def images(*shape):
    return torch.rand(*shape)


def _classes(net, size=32, count=4, channels=3):
    return net, lambda: F.cross_entropy(net(cast(images(count, channels, size, size))),
                                        torch.randint(0, 10, (count,)))


low = torch.float32


def cast(x):
    """An input in the format of the weights."""
    return x.to(low)


@model
def torchvision_resnet18():
    import torchvision
    return _classes(torchvision.models.resnet18(num_classes=10))


@model
def torchvision_vit():
    import torchvision
    return _classes(torchvision.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128,
        num_classes=10))


@model
def torchvision_mobilenet():
    import torchvision
    return _classes(torchvision.models.mobilenet_v3_small(num_classes=10))


@model
def torchvision_swin():
    import torchvision
    return _classes(torchvision.models.SwinTransformer(
        [2, 2], 24, [2, 2], [2, 4], [4, 4], num_classes=10))


@model
def torchvision_detection():
    import torchvision
    net = torchvision.models.detection.fcos_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=64, max_size=64)

    def loss():
        boxes = torch.tensor([[5.0, 5, 40, 40], [20, 10, 60, 50]])
        got = net([cast(images(3, 64, 64))], [{"boxes": boxes, "labels": torch.tensor([1, 2])}])
        return sum(got.values())
    return net, loss


@model
def timm_convnext():
    import timm
    return _classes(timm.create_model("convnext_atto", num_classes=10, depths=(1, 1, 1, 1)))


@model
def timm_efficientnet():
    import timm
    return _classes(timm.create_model("efficientnet_lite0", num_classes=10))


@model
def timm_vit():
    import timm
    return _classes(timm.create_model("vit_tiny_patch16_224", num_classes=10, img_size=32, depth=2,
                                      patch_size=8))


@model
def timm_mixup():
    """A ViT with registers, layer scale, drop path, and the loss of soft targets."""
    import timm
    from timm.loss import SoftTargetCrossEntropy
    net = timm.create_model("deit3_small_patch16_224", num_classes=10, img_size=32, depth=2,
                            patch_size=8, drop_path_rate=0.2, embed_dim=96, num_heads=4)
    return net, lambda: SoftTargetCrossEntropy()(net(cast(images(4, 3, 32, 32))),
                                                 torch.rand(4, 10).softmax(-1))


SMALL = dict(vocab_size=96, hidden_size=48, intermediate_size=96, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, head_dim=12)


def _words(net, count=2, length=24, words=96):
    def loss():
        ids = torch.randint(3, words, (count, length))
        return net(input_ids=ids, labels=ids).loss
    return net, loss


@model
def transformers_llama():
    import transformers as t
    return _words(t.LlamaForCausalLM(t.LlamaConfig(**SMALL)))


@model
def transformers_gpt2():
    import transformers as t
    return _words(t.GPT2LMHeadModel(t.GPT2Config(vocab_size=96, n_embd=48, n_layer=2, n_head=4,
                                                 n_positions=64)))


@model
def transformers_bert():
    import transformers as t
    return _words(t.BertForMaskedLM(t.BertConfig(
        vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96)))


@model
def transformers_t5():
    import transformers as t
    return _words(t.T5ForConditionalGeneration(t.T5Config(
        vocab_size=96, d_model=48, d_kv=12, d_ff=96, num_layers=2, num_heads=4,
        decoder_start_token_id=0)))


@model
def transformers_mixtral():
    import transformers as t
    return _words(t.MixtralForCausalLM(t.MixtralConfig(
        **SMALL, num_local_experts=4, num_experts_per_tok=2, output_router_logits=True)))


@model
def transformers_gemma3():
    import transformers as t
    return _words(t.Gemma3ForCausalLM(t.Gemma3TextConfig(**SMALL, attn_implementation="eager")))


@model
def transformers_mamba():
    import transformers as t
    return _words(t.MambaForCausalLM(t.MambaConfig(
        vocab_size=96, hidden_size=32, state_size=8, num_hidden_layers=2)), length=12)


@model
def transformers_mamba2():
    import transformers as t
    return _words(t.Mamba2ForCausalLM(t.Mamba2Config(
        vocab_size=96, hidden_size=32, state_size=8, num_hidden_layers=2, head_dim=16, num_heads=4,
        n_groups=1, chunk_size=8)), length=16)


@model
def transformers_rwkv():
    import transformers as t
    return _words(t.RwkvForCausalLM(t.RwkvConfig(vocab_size=96, hidden_size=32, context_length=16,
                                                 num_hidden_layers=2, attention_hidden_size=32)),
                  length=12)


@model
def transformers_qwen3_next():
    import transformers as t
    return _words(t.Qwen3NextForCausalLM(t.Qwen3NextConfig(
        **SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=32, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=12, linear_value_head_dim=12,
        layer_types=["linear_attention", "full_attention"])), length=16)


@model
def transformers_deberta():
    import transformers as t
    return _words(t.DebertaV2ForMaskedLM(t.DebertaV2Config(
        vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, relative_attention=True, pos_att_type="p2c|c2p")))


@model
def transformers_whisper():
    import transformers as t
    net = t.WhisperForConditionalGeneration(t.WhisperConfig(
        vocab_size=96, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
        max_source_positions=16, max_target_positions=16, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1))
    return net, lambda: net(input_features=cast(torch.randn(2, 8, 32)),
                            labels=torch.randint(3, 96, (2, 8))).loss


@model
def torchao_float8():
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
    convert_to_float8_training(net, config=Float8LinearConfig(emulate=True))
    return net, lambda: net(cast(torch.randn(16, 64))).float().square().mean()


@model
def x_transformers_decoder():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper
    layers = Decoder(dim=48, depth=2, heads=4, attn_dim_head=12, rotary_pos_emb=True, ff_glu=True,
                     use_rmsnorm=True, attn_qk_norm=True)
    net = AutoregressiveWrapper(TransformerWrapper(num_tokens=96, max_seq_len=32,
                                                   attn_layers=layers))
    return net, lambda: net(torch.randint(0, 96, (2, 25)))


@model
def diffusers_unet():
    import diffusers
    net = diffusers.UNet2DModel(sample_size=16, block_out_channels=(16, 32), norm_num_groups=4,
                                layers_per_block=1, attention_head_dim=8,
                                down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    scheduler = diffusers.DDPMScheduler(100)

    def loss():
        x, noise = images(2, 3, 16, 16), torch.randn(2, 3, 16, 16)
        times = torch.randint(0, 100, (2,))
        noisy = scheduler.add_noise(cast(x), cast(noise), times)
        return F.mse_loss(net(noisy, times).sample, cast(noise))
    return net, loss


@model
def diffusers_autoencoder():
    import diffusers
    net = diffusers.AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=4,
                                  down_block_types=("DownEncoderBlock2D",) * 2,
                                  up_block_types=("UpDecoderBlock2D",) * 2)

    def loss():
        x = cast(images(2, 3, 16, 16))
        seen = net.encode(x).latent_dist
        return F.l1_loss(net.decode(seen.mode()).sample, x) + 1e-3 * seen.kl().mean()
    return net, loss


@model
def peft_lora():
    import peft
    import transformers as t
    net = peft.get_peft_model(t.LlamaForCausalLM(t.LlamaConfig(**SMALL)), peft.LoraConfig(
        r=4, lora_dropout=0.1, target_modules=["q_proj", "v_proj"], use_dora=True))
    return _words(net)


@model
def fla_delta_rule():
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    net = nn.Linear(16, 3 * 32)

    def loss():
        q, k, v = net(cast(torch.randn(1, 10, 16))).view(1, 10, 2, 3, 16).permute(3, 0, 2, 1, 4)
        beta = torch.rand(1, 2, 10).to(q.dtype)
        return delta_rule_recurrence(q, F.normalize(k, dim=-1), v, beta)[0].float().square().mean()
    return net, loss


@model
def fla_gla():
    from fla.ops.gla.naive import naive_recurrent_gla
    net = nn.Linear(16, 4 * 32)

    def loss():
        q, k, v, g = net(cast(torch.randn(1, 10, 16))).view(1, 10, 2, 4, 16).permute(3, 0, 1, 2, 4)
        got = naive_recurrent_gla(q, k, v, F.logsigmoid(g))
        return (got[0] if isinstance(got, tuple) else got).float().square().mean()
    return net, loss


@model
def vector_quantize():
    from vector_quantize_pytorch import VectorQuantize
    net = nn.Sequential(nn.Linear(8, 16), VectorQuantize(dim=16, codebook_size=32, decay=0.8))

    def loss():
        got, _, commitment = net(cast(torch.randn(2, 40, 8)))
        return got.float().square().mean() + commitment.sum()
    return net, loss


@model
def vector_quantize_fsq():
    from vector_quantize_pytorch import FSQ
    net = nn.Sequential(nn.Linear(8, 4), FSQ([8, 5, 5, 5]))
    return net, lambda: net(cast(torch.randn(2, 40, 8)))[0].float().square().mean()


@model
def segmentation_unet():
    import segmentation_models_pytorch as smp
    net = smp.Unet("resnet18", encoder_weights=None, classes=1, decoder_channels=(32, 16, 16, 8, 8))
    dice, focal = smp.losses.DiceLoss("binary"), smp.losses.FocalLoss("binary")

    def loss():
        got, want = net(cast(images(2, 3, 32, 32))), (torch.rand(2, 1, 32, 32) > 0.5).float()
        return dice(got, want) + focal(got, want)
    return net, loss


@model
def open_clip_small():
    import open_clip
    from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
    net = CLIP(32, CLIPVisionCfg(layers=2, width=64, head_width=16, patch_size=8, image_size=32),
               CLIPTextCfg(context_length=12, vocab_size=96, width=32, heads=2, layers=2))
    contrast = open_clip.ClipLoss()

    def loss():
        image, text, scale = net(cast(images(4, 3, 32, 32)), torch.randint(1, 96, (4, 12)))[:3]
        return contrast(image, text, scale)
    return net, loss


class _Graph(nn.Module):
    def __init__(self, kind):
        super().__init__()
        import torch_geometric.nn as g
        self.first, self.second = {
            "gcn": lambda: (g.GCNConv(8, 16), g.GCNConv(16, 10)),
            "gat": lambda: (g.GATConv(8, 8, heads=2), g.GATConv(16, 10)),
            "gin": lambda: (g.GINConv(nn.Linear(8, 16)), g.GINConv(nn.Linear(16, 10)))}[kind]()
        self.norm = g.GraphNorm(16)

    def forward(self, x, edges):
        return self.second(F.elu(self.norm(self.first(x, edges))), edges)


def _graph(kind):
    net = _Graph(kind)

    def loss():
        x, edges = cast(torch.randn(60, 8)), torch.randint(0, 60, (2, 400))
        return F.cross_entropy(net(x, edges), torch.randint(0, 10, (60,)))
    return net, loss


@model
def geometric_gcn():
    return _graph("gcn")


@model
def geometric_gat():
    return _graph("gat")


@model
def monai_unet():
    import monai
    net = monai.networks.nets.UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8),
                                   strides=(2,))
    dice = monai.losses.DiceCELoss(to_onehot_y=True, softmax=True)
    return net, lambda: dice(net(cast(torch.randn(1, 1, 12, 12, 12))),
                             torch.randint(0, 2, (1, 1, 12, 12, 12)))


@model
def kornia_losses():
    import kornia
    net = nn.Conv2d(3, 3, 3, padding=1)

    def loss():
        x = cast(images(2, 3, 24, 24))
        got = net(x).sigmoid()
        return (kornia.losses.ssim_loss(got, x, 5) + kornia.losses.total_variation(got).mean() +
                kornia.losses.charbonnier_loss(got, x, "mean"))
    return net, loss


@model
def denoising_diffusion():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet
    net = GaussianDiffusion(Unet(dim=8, dim_mults=(1, 2), flash_attn=False), image_size=16,
                            timesteps=50)
    return net, lambda: net(cast(images(2, 3, 16, 16)))


@model
def vit_pytorch_simple():
    from vit_pytorch import SimpleViT
    return _classes(SimpleViT(image_size=32, patch_size=8, num_classes=10, dim=48, depth=2, heads=4,
                              mlp_dim=96))


@model
def performer():
    from performer_pytorch import PerformerLM
    net = PerformerLM(num_tokens=96, max_seq_len=32, dim=32, depth=1, heads=2, dim_head=16,
                      causal=False)

    def loss():
        ids = torch.randint(0, 96, (2, 32))
        return F.cross_entropy(net(ids).transpose(1, 2), ids)
    return net, loss


@model
def mambapy_mamba():
    from mambapy.mamba import Mamba, MambaConfig
    net = Mamba(MambaConfig(d_model=16, n_layers=1, d_state=8))
    return net, lambda: net(cast(torch.randn(2, 16, 16))).float().square().mean()


@model
def metric_learning():
    from pytorch_metric_learning import losses
    net = nn.Linear(16, 8)
    parts = [losses.NTXentLoss(), losses.TripletMarginLoss(), losses.MultiSimilarityLoss(),
             losses.CircleLoss()]

    def loss():
        got, labels = net(cast(torch.randn(16, 16))), torch.arange(16) // 4
        return sum(part(got, labels) for part in parts)
    return net, loss


@model
def torch_modules():
    """LSTM, GRU, group and instance norm, pools and interpolation in torch alone, as a package's
    users have them."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.group = nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8)
            self.instance = nn.InstanceNorm2d(8, affine=True)
            self.up = nn.Upsample(scale_factor=2, mode="bilinear")
            self.lstm, self.gru = nn.LSTM(18, 8, batch_first=True), nn.GRU(8, 10, batch_first=True)

        def forward(self, x):
            x = F.silu(self.group(self.conv(x)))
            x = F.avg_pool2d(self.up(F.elu(self.instance(x))), 3)
            x = self.lstm(x.flatten(2)[:, :, :18])[0]
            return self.gru(x)[0].mean(1)
    return _classes(Net(), 16)


@model
def lightning_trainer():
    """A Trainer's own loop: clipping, two small batches a step, and an average of the weights."""
    import lightning
    from lightning.pytorch.callbacks import StochasticWeightAveraging

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                                     nn.LayerNorm(288), nn.Linear(288, 10))

        def training_step(self, batch, _):
            x, y = batch
            return F.cross_entropy(self.net(x), y, label_smoothing=0.1)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    def train(precision):
        told = {"fp32": "32-true", "autocast": "bf16-mixed", "bf16": "bf16-true"}[precision]
        data = torch.utils.data.TensorDataset(images(16, 3, 8, 8), torch.randint(0, 10, (16,)))
        lightning.Trainer(
            max_epochs=2, accelerator="cpu", precision=told, gradient_clip_val=1.0, logger=False,
            accumulate_grad_batches=2, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, callbacks=[StochasticWeightAveraging(1e-3, 1)]).fit(
                Module(), torch.utils.data.DataLoader(data, 4))
    return train


@model
def lightning_fabric():
    """Fabric around a loop of one's own, with its clipping."""
    import lightning

    def train(precision):
        told = {"fp32": "32-true", "autocast": "bf16-mixed", "bf16": "bf16-true"}[precision]
        fabric = lightning.Fabric(accelerator="cpu", precision=told)
        net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 10))
        net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), 0.1, 0.9,
                                                           weight_decay=1e-4, nesterov=True))
        for _ in range(2):
            optimizer.zero_grad()
            fabric.backward(F.cross_entropy(net(torch.randn(8, 16)), torch.randint(0, 10, (8,))))
            fabric.clip_gradients(net, optimizer, max_norm=1.0)
            optimizer.step()
    return train


TUNED = dict(vocab_size=96, num_layers=2, num_heads=4, num_kv_heads=2, embed_dim=48, max_seq_len=32,
             intermediate_dim=96)


def _tuned(net):
    """With torchtune's loss, whose logits come in pieces."""
    from torchtune.modules.loss import CEWithChunkedOutputLoss
    entropy = CEWithChunkedOutputLoss(4)
    net.set_num_output_chunks(4)

    def loss():
        ids = torch.randint(0, 96, (2, 24))
        return entropy(net(ids), ids)
    return net, loss


@model
def torchtune_llama():
    from torchtune.models.llama3_1._component_builders import llama3_1
    return _tuned(llama3_1(**TUNED))


@model
def torchtune_gemma2():
    """Scores and logits are capped, and windows slide."""
    from torchtune.models.gemma2 import gemma2
    net = gemma2(vocab_size=96, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=12,
                 embed_dim=48, intermediate_dim=96, max_seq_len=32)

    def loss():
        ids = torch.randint(0, 96, (2, 24))
        return F.cross_entropy(net(ids).float().flatten(0, 1), ids.flatten())
    return net, loss


@model
def torchtune_dora():
    from torchtune.models.llama3_1._component_builders import lora_llama3_1
    net = lora_llama3_1(["q_proj", "v_proj"], apply_lora_to_mlp=True, **TUNED, lora_rank=4,
                        lora_alpha=8.0, use_dora=True)
    for module in net.modules():
        if hasattr(module, "initialize_dora_magnitude"):
            module.initialize_dora_magnitude()
    return _tuned(net)


@model
def torchtune_dpo():
    from torchtune.models.llama3_1._component_builders import llama3_1
    from torchtune.rlhf import get_batch_log_probs
    from torchtune.rlhf.loss import DPOLoss
    net, preference = llama3_1(**TUNED), DPOLoss(label_smoothing=0.1)

    def loss():
        ids = torch.randint(0, 96, (4, 12))
        ours = get_batch_log_probs(net(ids), ids)
        other = ours.detach() + cast(torch.randn(4))
        return preference(ours[:2], ours[2:], other[:2], other[2:])[0].mean()
    return net, loss


@model
def torchtune_distillation():
    from torchtune.modules.loss import ForwardKLWithChunkedOutputLoss
    net, apart = nn.Linear(16, 96), ForwardKLWithChunkedOutputLoss(2)

    def loss():
        x = cast(torch.randn(2, 12, 16))
        teacher = cast(torch.randn(2, 12, 96))
        return apart(list(net(x).chunk(2, 1)), list(teacher.chunk(2, 1)),
                     torch.randint(0, 96, (2, 12)))
    return net, loss


def _bits(kind, steps=2, **options):
    """An optimizer of bitsandbytes, on parameters that are large enough for its eight bits."""
    def train(precision):
        import bitsandbytes
        net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 64))
        net.to(low)
        optimizer = getattr(bitsandbytes.optim, kind)(net.parameters(), 1e-3, **options)
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
                loss = F.mse_loss(net(cast(torch.randn(16, 64))), cast(torch.randn(16, 64)))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    return train


@model
def bitsandbytes_adamw():
    return _bits("AdamW")


@model
def bitsandbytes_adamw8bit():
    return _bits("AdamW8bit")


@model
def bitsandbytes_lion8bit():
    return _bits("Lion8bit", weight_decay=0.1)


@model
def bitsandbytes_embedding():
    import bitsandbytes
    net = nn.Sequential(bitsandbytes.nn.StableEmbedding(96, 64), nn.Linear(64, 96))

    def loss():
        ids = torch.randint(0, 96, (2, 24))
        return F.cross_entropy(net(ids).flatten(0, 1).float(), ids.flatten())
    return net, loss


class _Adapted(nn.Module):
    """A frozen layer of few bits beside two small matrices, as in QLoRA."""

    def __init__(self, frozen):
        super().__init__()
        self.frozen, self.down, self.up = frozen, nn.Linear(64, 4, False), nn.Linear(4, 64, False)
        nn.init.normal_(self.up.weight)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(x))


def _quantized(make):
    """Two such layers. Frozen ones are made, and kept as they are, before formats change."""
    import bitsandbytes
    layers = []
    for _ in range(2):
        plain = nn.Linear(64, 64)
        frozen = make(bitsandbytes.nn)
        frozen.load_state_dict(plain.state_dict())
        layers.append(_Adapted(frozen.requires_grad_(False).to("cpu")))
    net = nn.Sequential(nn.Linear(16, 64), layers[0], nn.SiLU(), layers[1])
    return net, lambda: net(cast(torch.randn(8, 16))).float().square().mean()


@model
def bitsandbytes_nf4():
    return _quantized(lambda nn_: nn_.Linear4bit(64, 64, quant_type="nf4", compute_dtype=low))


@model
def bitsandbytes_fp4():
    return _quantized(lambda nn_: nn_.Linear4bit(64, 64, quant_type="fp4", compute_dtype=low,
                                                 compress_statistics=False))


@model
def bitsandbytes_int8():
    return _quantized(lambda nn_: nn_.Linear8bitLt(64, 64, has_fp16_weights=False, threshold=6.0))


def _preferred(name, pairs=True, **options):
    """A chunked loss of liger-kernel, which is plain PyTorch; its kernels need a GPU."""
    import liger_kernel.chunked_loss as chunked
    net, body = nn.Linear(32, 96), nn.Linear(32, 32)
    net.body = body
    fused = getattr(chunked, name)(compiled=False, **options)

    def loss():
        x, ids = body(cast(torch.randn(4, 8, 32))), torch.randint(0, 96, (4, 8))
        more = {}
        if "use_ref_model" in options:
            more.update(ref_input=x.detach(), ref_weight=(net.weight * 0.9).detach(),
                        ref_bias=net.bias.detach())
        if not pairs:  # its arguments come in another order
            got = fused(x, net.weight, ids, net.bias, torch.tensor([True, False, True, False]),
                        **more)
        else:
            got = fused(net.weight, x, ids, bias=net.bias, **more)
        return got[0] if isinstance(got, tuple) else got
    return net, loss


@model
def liger_dpo():
    return _preferred("LigerFusedLinearDPOLoss", use_ref_model=True)


@model
def liger_orpo():
    return _preferred("LigerFusedLinearORPOLoss")


@model
def liger_cpo():
    return _preferred("LigerFusedLinearCPOLoss")


@model
def liger_simpo():
    return _preferred("LigerFusedLinearSimPOLoss")


@model
def liger_kto():
    return _preferred("LigerFusedLinearKTOLoss", pairs=False, use_ref_model=True)


@model
def liger_jsd():
    from liger_kernel.chunked_loss import LigerFusedLinearJSDLoss
    net, body = nn.Linear(32, 96), nn.Linear(32, 32)
    net.body = body
    fused = LigerFusedLinearJSDLoss(compiled=False, chunk_size=8)

    def loss():
        x = body(cast(torch.randn(24, 32)))
        return fused(x, net.weight, cast(torch.randn(24, 48)), cast(torch.randn(96, 48)),
                     torch.randint(0, 96, (24,)), net.bias, None)
    return net, loss


@model
def liger_grpo():
    from liger_kernel.chunked_loss import LigerFusedLinearGRPOLoss
    net, body = nn.Linear(32, 96), nn.Linear(32, 32)
    net.body = body
    fused = LigerFusedLinearGRPOLoss(compiled=False, beta=0.04, use_ref_model=True)

    def loss():
        x = body(cast(torch.randn(4, 8, 32)))
        return fused(x, net.weight, torch.randint(0, 96, (4, 8)), torch.ones(4, 8),
                     cast(torch.randn(4)), bias=net.bias, ref_input=x.detach(),
                     ref_weight=(net.weight * 0.9).detach(), ref_bias=net.bias.detach())[0]
    return net, loss


@model
def neuraloperator_fno():
    """Weights and transforms are complex, and stay so."""
    from neuralop.models import FNO

    def train(precision):
        net = FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
        optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
            loss = F.mse_loss(net(cast(images(2, 1, 16, 16))).float(), images(2, 1, 16, 16))
        loss.backward()
        optimizer.step()
    return train


@model
def e3nn_product():
    from e3nn import o3
    net = o3.FullyConnectedTensorProduct("8x0e+4x1o", "1x0e+1x1o", "12x0e+4x1o")

    def loss():
        shape = o3.spherical_harmonics("1x0e+1x1o", torch.randn(12, 3), True)
        return net(cast(torch.randn(12, 20)), cast(shape)).float().square().mean()
    return net, loss


@model
def gpytorch_exact():
    import gpytorch
    x = torch.linspace(0, 1, 24)
    y = torch.sin(x * 6)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()

    class Process(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))
    net = Process()
    likely = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, net)
    return net, lambda: -likely(net(x), y)


@model
def torchdiffeq_adjoint():
    from torchdiffeq import odeint_adjoint

    class Slope(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, _, y):
            return self.net(y)
    net = Slope()
    return net, lambda: odeint_adjoint(net, cast(torch.randn(3, 4)),
                                       torch.linspace(0, 1, 3, dtype=low),
                                       method="rk4").square().mean()


@model
def sentence_transformers_ranking():
    from sentence_transformers import losses
    from transformers import BertConfig, BertModel

    class Sentence(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = BertModel(BertConfig(hidden_size=32, num_hidden_layers=1, vocab_size=96,
                                            num_attention_heads=2, intermediate_size=64))

        def forward(self, words):
            y = self.net(**words).last_hidden_state.mean(1)
            return {"sentence_embedding": F.normalize(y, dim=-1)}
    net = Sentence()
    ranking = losses.MultipleNegativesRankingLoss(net)
    words = lambda: {"input_ids": torch.randint(0, 96, (6, 9)),
                     "attention_mask": torch.ones(6, 9, dtype=torch.int64)}
    return net, lambda: ranking([words(), words()], None)


@model
def transformers_wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC
    net = Wav2Vec2ForCTC(Wav2Vec2Config(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
        vocab_size=12, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        mask_time_prob=0.0))
    return net, lambda: net(cast(torch.randn(2, 800)), labels=torch.randint(1, 12, (2, 5))).loss


@model
def transformers_deepseek_v3():
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
    return _words(DeepseekV3ForCausalLM(DeepseekV3Config(
        vocab_size=96, hidden_size=32, intermediate_size=64, moe_intermediate_size=16,
        num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, n_routed_experts=4,
        num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1, kv_lora_rank=8,
        q_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)))


@model
def torchvision_shufflenet():
    import torchvision
    return _classes(torchvision.models.shufflenet_v2_x0_5(num_classes=10), 64)


def _stepped(make):
    """An optimizer of a package, on a small network, for three steps."""
    def train(precision):
        net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8))
        optimizer = make(net.to(low).parameters())
        if hasattr(optimizer, "train"):
            optimizer.train()
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
                loss = F.cross_entropy(net(cast(torch.randn(8, 16))).float(),
                                       torch.randint(0, 8, (8,)))
            loss.backward()
            optimizer.step()
    return train


@model
def schedulefree_adamw():
    import schedulefree
    return _stepped(lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-3))


@model
def lion_pytorch_lion():
    import lion_pytorch
    return _stepped(lambda p: lion_pytorch.Lion(p, lr=1e-3, weight_decay=0.1))


@model
def pytorch_optimizer_ademamix():
    import pytorch_optimizer
    return _stepped(lambda p: pytorch_optimizer.AdEMAMix(p, lr=1e-3))


@model
def pytorch_optimizer_soap():
    import pytorch_optimizer
    return _stepped(lambda p: pytorch_optimizer.SOAP(p, lr=1e-3))


@model
def pytorch_optimizer_prodigy():
    import pytorch_optimizer
    return _stepped(pytorch_optimizer.Prodigy)


def steps(name, precision, count=1):
    """Trains for that many steps, watched, and returns what was seen."""
    import halfcheck.torch
    global low
    torch.set_num_threads(1)
    torch.manual_seed(0)
    low = torch.bfloat16 if precision == "bf16" else torch.float32
    made = MODELS[name]()
    if callable(made):  # it has a loop of its own
        with halfcheck.torch.watch(every=1) as seen:
            made(precision)
        return seen
    net, loss = made
    net.train().to(low)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-3)
    with halfcheck.torch.watch(every=1) as seen:
        for _ in range(count):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
                value = loss()
            value.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    return seen


def every(folder, precisions=PRECISIONS):
    """Each model in each precision, one process at a time; what is there already is kept."""
    import halfcheck.torch  # once, for all the processes that are forked  # noqa: F401
    os.makedirs(folder, exist_ok=True)
    for precision in precisions:
        for name in MODELS:
            path = os.path.join(folder, f"{name}-{precision}.txt")
            if os.path.exists(path):
                continue
            child = os.fork()
            if not child:
                signal.alarm(900)
                _write(name, precision, path)
                os._exit(0)
            os.waitpid(child, 0)
            with open(path, encoding="utf-8") as file:
                print(name, precision, file.readline().strip(), flush=True)


def _write(name, precision, path):
    """Watches one, and writes what was seen, or why it was not."""
    said = "left out: it takes more than 900 s"
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(said + "\n")
        seen = steps(name, precision)
        said = str(seen)
        if seen.wrong():
            seen.report(path[:-4])
    except BaseException as error:  # of a package that is missing, or has a defect of its own
        said = f"left out: {type(error).__name__}: {str(error).splitlines()[0]}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(said + "\n")


# Lines that are no operator's.
RULES = {"used wrongly": "used wrongly", "coarser": "coarse", "gradients that": "gradient",
         "hardly what": "doubtful"}


def summary(folder):
    """What was seen of them, a line for each model and precision, and what was wrong there."""
    lines = []
    for name in MODELS:
        for precision in PRECISIONS:
            path = os.path.join(folder, f"{name}-{precision}")
            if not os.path.exists(path + ".txt"):
                continue
            with open(path + ".txt", encoding="utf-8") as file:
                said = file.read().splitlines()
            first = said[0].removeprefix("1 steps watched, ")
            first = first.replace(" calls that make numbers,", " calls,").rsplit(", ", 1)[0]
            lines.append(f"{name}, {precision}: {first}")
            rule = ""
            for line in said:
                if not line.startswith(" "):
                    rule = next((short for begin, short in RULES.items() if line.startswith(begin)),
                                "")
                elif rule and "; " in line:
                    lines.append(f"  {rule}: " + line.strip().rsplit("; ", 1)[0])
                if " times its bound  " in line or line.startswith("first "):
                    short = line.strip().replace(" its bound ", "")
                    lines.append("  " + short.replace(
                        "_scaled_dot_product_flash_attention_for_cpu", "attention"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--list":
        print("\n".join(MODELS))
    elif sys.argv[1] == "--summary":
        print(summary(sys.argv[2]), end="")
    elif sys.argv[1] == "--all":
        every(sys.argv[2], sys.argv[3:] or PRECISIONS)
    else:
        print(steps(sys.argv[1], sys.argv[2]))
