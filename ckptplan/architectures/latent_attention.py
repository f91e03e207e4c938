"""DeepSeek and what follows it: low-rank attention (MLA), an indexer for sparse attention, multi-token prediction."""

from ckptplan.architectures.blocks import At, Draft, Parts, matrix, norm
from ckptplan.architectures.decoder import Decoder, decoder
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.architectures.mixtures import DEEPSEEK_V2, DEEPSEEK_V3, MIXTURES, Mixture, experts_feed
from ckptplan.cost.architecture import Cut, TensorKind, Tensors

MTP_LAYER = "model.layers.{}."
_MOST_MODULES = 100


def latent_attention(config: Dimensions, at: At, *, low_rank_queries: bool = True) -> Parts:
    """Keys and values from one narrow projection, and queries from another one or straight.

    DeepSeek-V2 (arXiv 2405.04434), section 2.1. What leads down is on every tensor-parallel rank, what leads up is cut
    by heads.
    """
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    rank, rope = config.size("kv_lora_rank"), config.size("qk_rope_head_dim")
    nope, value = config.size("qk_nope_head_dim"), config.size("v_head_dim")
    bias, kind = config.flag("attention_bias"), TensorKind.ATTENTION
    low = config.maybe("q_lora_rank") if low_rank_queries else None
    queries = heads * (nope + rope)
    if low is None:
        parts = matrix(at, "q_proj", (queries, hidden), kind, Cut.COLUMN, heads=heads)
    else:
        parts = [
            *matrix(at, "q_a_proj", (low, hidden), kind, bias=bias),
            *norm(at, "q_a_layernorm", low),
            *matrix(at, "q_b_proj", (queries, low), kind, Cut.COLUMN, heads=heads),
        ]
    return [
        *parts,
        *matrix(at, "kv_a_proj_with_mqa", (rank + rope, hidden), kind, bias=bias),
        *norm(at, "kv_a_layernorm", rank),
        *matrix(at, "kv_b_proj", (heads * (nope + value), rank), kind, Cut.COLUMN, heads=heads),
        *matrix(at, "o_proj", (hidden, heads * value), kind, Cut.ROW, heads=heads, bias=bias),
    ]


def indexer(config: Dimensions, at: At) -> Parts:
    """What chooses the tokens to attend to (DeepSeek sparse attention), on every rank."""
    hidden, low = config.size("hidden_size"), config.size("q_lora_rank")
    heads, size = config.size("index_n_heads"), config.size("index_head_dim")
    kind = TensorKind.INDEXER
    parts = [
        *matrix(at, "wq_b", (heads * size, low), kind),
        *matrix(at, "wk", (size, hidden), kind),
        *norm(at, "k_norm", size, bias=True),
        *matrix(at, "weights_proj", (heads, hidden), kind),
    ]
    return [t._replace(kind=kind) for t in parts]


def deepseek(config: Dimensions) -> Draft:
    """DeepSeek V2, V3, V3.2, Kimi K2 and GLM with the same attention."""
    mixture = DEEPSEEK_V2 if config.model_type == "deepseek_v2" else DEEPSEEK_V3
    indexed = config.model_type in ("deepseek_v32", "glm_moe_dsa")
    for key in ("indexer_types", "index_topk_pattern", "index_skip_topk_offset"):
        config.refuse(key, (None,), "layers that share an indexer are not known")
    config.refuse("index_topk_freq", (None, 1), "layers that share an indexer are not known")

    def attend(config: Dimensions, at: At) -> Parts:
        inside = at.under("self_attn")
        sparse = indexer(config, inside.under("indexer")) if indexed else []
        return latent_attention(config, inside) + sparse

    return _with_prediction(config, Decoder(), mixture, attend)


def glm4_moe(config: Dimensions) -> Draft:
    """GLM 4.5: usual attention with the mixture and the multi-token prediction of DeepSeek-V3."""
    family, mixture = MIXTURES["glm4_moe"]
    return _with_prediction(config, family, mixture, None)


def _with_prediction(config: Dimensions, family: Decoder, mixture: Mixture, attend: object) -> Draft:
    draft = decoder(config, family, experts_feed(mixture), attend)  # type: ignore[arg-type]
    modules = config.count("num_nextn_predict_layers", 0)
    if modules > _MOST_MODULES:
        config.fault("num_nextn_predict_layers", f"{modules:,} is more than {_MOST_MODULES}")
    if not modules or modules > _MOST_MODULES or config.model_type == "deepseek_v2":
        return draft
    return draft._replace(extra=_prediction(config, draft, modules))


def _prediction(config: Dimensions, draft: Draft, modules: int) -> Parts:
    """One layer like the last one for each module, its projection, and copies of the embedding and the head.

    DeepSeek-V3 (arXiv 2412.19437), section 2.2; names and copies are those of the published files.
    """
    layers = tuple(range(draft.layers, draft.layers + modules))
    last = draft.layers - 1
    hidden, vocabulary = config.size("hidden_size"), config.size("vocab_size")
    at = At(MTP_LAYER, layers)
    table = Tensors(f"{MTP_LAYER}embed_tokens.weight", (vocabulary, hidden), TensorKind.EMBEDDING, layers)
    return [
        *(t._replace(layers=layers) for t in draft.tensors if t.layers and t.layers[-1] == last),
        *matrix(at, "eh_proj", (hidden, 2 * hidden), TensorKind.OTHER),
        *(part for name in ("enorm", "hnorm", "shared_head.norm") for part in norm(at, name, hidden)),
        table._replace(cut=Cut.COLUMN),
        *matrix(at, "shared_head.head", (vocabulary, hidden), TensorKind.HEAD, Cut.COLUMN),
    ]
