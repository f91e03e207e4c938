"""The names that training frameworks give to the parts of a checkpoint: compared whole, never as substrings."""

from __future__ import annotations

import re

from ckptplan.checkpoint.kinds import StateKind

# State that optimizers keep for one parameter.
SLOTS = {
    **dict.fromkeys(
        (
            "exp_avg", "momentum_buffer", "momentum", "mu", "trace", "m", "grad_avg", "exp_avg_slow", "exp_avg_fast",
            "muon_buffer", "muon_momentum", "muon_momentum_buffer", "mom_buffer", "z",
            "state1", "absmax1", "qmap1", "max1", "new_max1", "unorm_vec",
        ),
        StateKind.FIRST_MOMENT,
    ),
    **dict.fromkeys(
        (
            "exp_avg_sq", "exp_avg_sq_row", "exp_avg_sq_col", "max_exp_avg_sq", "square_avg", "acc_delta", "sum",
            "exp_inf", "nu", "v", "v_row", "v_col", "shampoo", "preconditioner", "preconditioners", "GG", "Q",
            "factor_matrices", "inv_factor_matrices", "precond", "inv_precond", "pre_cond", "inv_pre_cond", "hessian",
            "row_var", "col_var", "variance", "vmean", "exp_avg_res_row", "exp_avg_res_col",
            "state2", "absmax2", "qmap2", "max2", "new_max2",
        ),
        StateKind.SECOND_MOMENT,
    ),
    **dict.fromkeys(("step", "count", "num_steps"), StateKind.OPTIMIZER_STEP),
    **dict.fromkeys(
        (
            "master_param", "master_params", "master", "master_weight", "fp32_param", "fp32", "param_fp32",
            "fp32_master", "fp32_weight",
        ),
        StateKind.MASTER,
    ),
}  # fmt: skip

# Of these, words that no module of a model is called.
UNMISTAKABLE = frozenset(
    {
        "exp_avg", "exp_avg_sq", "exp_avg_sq_row", "exp_avg_sq_col", "max_exp_avg_sq", "momentum_buffer", "exp_inf",
        "square_avg", "acc_delta", "muon_momentum_buffer", "master_param",
    }
)  # fmt: skip

# Groups of masters beside the state of an optimizer, not within it.
MASTER_GROUPS = frozenset(
    {
        "fp32_from_fp16_params", "fp32_from_float16_groups", "fp32_from_fp16", "fp32_groups_flat", "master_params",
        "single_partition_of_fp32_groups", "fp32_flat_groups", "shard_fp32_from_float16_groups",
    }
)  # fmt: skip

# What optax keeps right below an optimizer or its place in a chain: ``opt_state.0.mu.<parameter>``.
OPTAX = frozenset({"mu", "nu", "count", "trace", "hyperparams"})

# Leaves of param_groups; an optimizer may keep some as tensors.
HYPERPARAMETERS = frozenset(
    {
        "lr", "betas", "eps", "weight_decay", "params", "amsgrad", "maximize", "foreach", "capturable",
        "differentiable", "fused", "initial_lr", "momentum", "dampening", "nesterov", "decoupled_weight_decay",
        "param_names", "step", "lr_mult", "wd_mult", "max_lr", "min_lr", "rho", "alpha", "centered", "beta1", "beta2",
    }
)  # fmt: skip

OPTIMIZERS = frozenset(
    {
        "optim", "optims", "optimizer", "optimizers", "optimiser", "opt", "opt_state", "opt_states", "optim_state",
        "optim_states", "optim_state_dict", "optimizer_state", "optimizer_states", "optimizer_state_dict",
        "optimizer_states_dict", "chained_optimizer", "chained_optimizers",
    }
)  # fmt: skip

NUMBERED_OPTIMIZER = re.compile(r"(?:chained|optim|optimizer)_\d{1,6}\Z")  # one of several that are chained

MODELS = frozenset(
    {
        "model", "models", "module", "modules", "network", "net", "params", "weights", "state_dict",
        "model_state_dict", "model_state", "model_weights", "model_parts",
    }
)  # fmt: skip

# Containers of everything, within which the parts have their own names.
WRAPPERS = frozenset({"app", "my_app", "app_state", "checkpoint", "ckpt", "trainer"})

# Copies of the parameters that no step trains.
AVERAGES = frozenset(
    {
        "ema", "ema_model", "model_ema", "ema_state", "ema_state_dict", "ema_weights", "shadow_params",
        "swa_model", "averaged_model", "average_model", "state_dict_ema",
    }
)  # fmt: skip
# A first part of the word ema and of these alone is one of averaged weights.
EMA_COMPANIONS = frozenset(
    {
        "ema", "model", "models", "module", "net", "network", "unet", "weights", "params", "parameters", "param",
        "state", "states", "dict", "shadow", "decay", "step", "steps", "updates", "num", "optimizer", "copy",
    }
)  # fmt: skip

# Words between underscores that only the states of random-number generators are called by.
RANDOM_WORDS = frozenset({"rng", "rngs", "prng"})

# What a run was started with: no word in it is a state.
CONFIGURATIONS = frozenset(
    {
        "args", "arguments", "cfg", "config", "configs", "configuration", "conf", "hparams", "hyper_parameters",
        "hyperparameters", "settings", "training_args", "model_args", "model_config",
        "train_config", "job_config",
    }
)  # fmt: skip

SECTIONS = {
    **dict.fromkeys(
        (
            "lr_scheduler", "lr_schedulers", "scheduler", "schedulers", "sched", "lr_sched", "lr_schedule",
            "opt_param_scheduler", "scheduler_state_dict", "lr_scheduler_state_dict", "scheduler_state",
            "lr_scheduler_state", "warmup_scheduler",
        ),
        StateKind.SCHEDULER,
    ),
    **dict.fromkeys(
        (
            "step", "steps", "global_step", "global_steps", "current_step", "iteration", "iterations", "iter",
            "epoch", "current_epoch", "train_state", "training_state", "trainer_state", "progress",
            "train_progress", "training_progress", "tokens_seen", "ntokens_seen", "num_tokens", "total_tokens",
            "samples_seen", "global_samples", "consumed_samples", "consumed_train_samples", "step_count",
            "num_floating_point_operations_so_far", "trainer_state.json", "num_updates", "step_num", "num_steps",
            "n_steps", "train_step", "train_steps", "training_step", "training_steps", "trained_steps",
            "global_step_num", "iter_num", "num_iterations", "updates", "num_epochs", "epoch_num", "epochs_trained",
            "tokens", "num_tokens_seen", "total_tokens_seen", "tokens_trained", "tokens_processed", "consumed_tokens",
            "seen_tokens", "n_tokens", "num_samples", "seen_samples", "total_samples", "num_examples_seen",
            "batches_seen", "batch_idx", "num_batches_seen", "run_state", "loop_state", "loops",
        ),
        StateKind.PROGRESS,
    ),
    **dict.fromkeys(
        (
            "dataloader", "dataloaders", "data_loader", "train_dataloader", "train_loader", "dataloader_state",
            "dataloader_state_dict", "dl_state_dict", "dataset", "train_dataset", "data_state", "data", "sampler",
            "data_sampler", "train_sampler", "data_iter", "data_iterator", "train_dataloader_state", "dl_state",
            "dataset_state", "dataset_states", "dataset_state_dict", "data_loader_state", "data_loaders",
            "data_loader_state_dict", "loader", "loader_state", "train_loader_state", "train_dl", "sampler_state",
            "sampler_state_dict", "batch_sampler", "train_data", "train_iter", "train_iterator", "data_position",
            "data_iterator_state", "data_stream", "datapipe", "stateful_dataloader",
        ),
        StateKind.DATA_POSITION,
    ),
    **dict.fromkeys(
        (
            "rng", "rngs", "rng_state", "rng_states", "rng_state_dict", "random", "random_state", "random_states",
            "random_rng_state", "np_rng_state", "numpy_rng_state", "torch_rng_state", "cuda_rng_state",
            "rng_tracker_states", "python_rng_state", "cpu_rng_state", "torch_cuda_rng_state", "prng_key",
            "random_state_dict", "torch_random_state", "numpy_random_state", "np_random_state", "python_random_state",
            "cuda_random_state", "numpy_state", "python_state", "generator_state", "generator_states",
        ),
        StateKind.RANDOM,
    ),
    **dict.fromkeys(
        (
            "grad_scaler", "scaler", "loss_scaler", "amp", "amp_scaler", "scaler_state_dict", "grad_scaler_state",
            "grad_scaler_state_dict", "loss_scale",
        ),
        StateKind.LOSS_SCALER,
    ),
}  # fmt: skip

# Leaves that are parameters in nearly every model: without optimizer state they are frozen or tied, not buffers.
PARAMETER_LEAVES = frozenset({"weight", "bias", "_flat_param"})

BUFFER_LEAVES = frozenset(
    {
        "inv_freq", "rope_inv_freq", "original_inv_freq", "freqs_cis", "freqs_cos", "freqs_sin", "cos_cached",
        "sin_cached", "rope_cache", "running_mean", "running_var", "num_batches_tracked", "position_ids",
        "token_type_ids", "attn_mask", "attn_bias_mask", "causal_mask", "masked_bias", "relative_position_index",
        "relative_coords_table", "tokens_per_expert", "local_tokens_per_expert", "expert_bias",
        "e_score_correction_bias",
    }
)  # fmt: skip

EXTRA_STATES = frozenset({"_extra_state", "extra_state"})

# Scales and histories of absolute maxima.
FP8_LEAVES = frozenset(
    {
        "scale_inv", "weight_scale_inv", "input_scale_inv", "scale_fwd", "scale_bwd", "scale_inv_fwd",
        "scale_inv_bwd", "amax_history", "amax_history_fwd", "amax_history_bwd", "amax", "fp8_meta", "amax_and_scale",
    }
)  # fmt: skip
# FP8 only where a tensor of 8-bit floats stands beside.
FP8_COMPANIONS = frozenset({"weight_scale", "input_scale", "output_scale", "activation_scale", "act_scale"})
# A leaf that is spelt with one of the first and one of the second, word by word: fp8_scale_input.
FP8_WORDS = (frozenset({"fp8", "float8"}), frozenset({"amax", "scale", "history"}))

# Prefixes that wrappers of modules put into names, which the optimizer's names lack or have.
MODULE_WRAPPERS = frozenset({"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
