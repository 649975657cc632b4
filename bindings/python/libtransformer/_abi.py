"""Layouts and prototypes of transformer.h. Written by generate.py: change the header, not this file."""

# flake8: noqa: E501
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_size_t,
                    c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, Tuple

VERSION = (0, 2, 0)


class tfm_error(Structure):
    _fields_ = [
        ("status", c_int32),
        ("message", c_char * 252),
    ]


class tfm_allocator(Structure):
    _fields_ = [
        ("resize", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t)),
        ("user", c_void_p),
    ]


class tfm_text(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
    ]


class tfm_ids(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("size", c_size_t),
    ]


tfm_log_fn = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)


class tfm_tokenizer_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_uint32),
        ("vocab_size", c_uint32),
        ("merges", c_uint32),
        ("min_frequency", c_uint32),
        ("replace_invalid", c_uint32),
        ("strict_size", c_uint32),
        ("reserved", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
        ("log", tfm_log_fn),
        ("log_user", c_void_p),
    ]


class tfm_special_ids(Structure):
    _fields_ = [
        ("pad", c_int32),
        ("eos", c_int32),
        ("bos", c_int32),
        ("unk", c_int32),
    ]


class tfm_pretokenize_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("language", c_uint32),
        ("lowercase", c_uint32),
        ("normalize", c_uint32),
        ("split_hyphens", c_uint32),
        ("no_escape", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_model_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_encoder_layers", c_uint32),
        ("n_decoder_layers", c_uint32),
        ("d_model", c_uint32),
        ("d_ff", c_uint32),
        ("n_heads", c_uint32),
        ("d_k", c_uint32),
        ("d_v", c_uint32),
        ("vocab_size", c_uint32),
        ("source_vocab_size", c_uint32),
        ("norm_order", c_uint32),
        ("positions", c_uint32),
        ("position_offset", c_uint32),
        ("max_positions", c_uint32),
        ("sharing", c_uint32),
        ("start", c_uint32),
        ("attention_bias", c_uint32),
        ("ffn_bias", c_uint32),
        ("softmax_bias", c_uint32),
        ("init", c_uint32),
        ("layer_norm_eps", c_float),
        ("reserved", c_uint32),
        ("seed", c_uint64),
        ("allocator", POINTER(tfm_allocator)),
        ("activation", c_uint32),
        ("embedding_norm", c_uint32),
        ("plain_embedding", c_uint32),
        ("own_ids", c_uint32),
        ("pad_id", c_uint32),
        ("eos_id", c_uint32),
        ("bos_id", c_uint32),
        ("plain_source", c_uint32),
        ("force_first", c_uint32),
        ("first_id", c_uint32),
    ]


class tfm_model_costs(Structure):
    _fields_ = [
        ("attention", c_uint64),
        ("feedforward", c_uint64),
        ("encoder", c_uint64),
        ("decoder", c_uint64),
        ("embeddings", c_uint64),
        ("parameters", c_uint64),
        ("source_macs", c_double),
        ("target_macs", c_double),
        ("training_flops", c_double),
    ]


class tfm_parameter(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", POINTER(c_float)),
        ("rank", c_uint32),
        ("shape", c_uint32 * 3),
    ]


class tfm_load_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("skip_checksum", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


tfm_decode_progress_fn = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t)


class tfm_decoder_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("beam", c_uint32),
        ("alpha", c_float),
        ("n_best", c_uint32),
        ("max_extra", c_uint32),
        ("max_length", c_uint32),
        ("max_source", c_uint32),
        ("stop_rule", c_uint32),
        ("allow_special", c_uint32),
        ("replace_invalid", c_uint32),
        ("batch_tokens", c_uint32),
        ("n_threads", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
        ("progress", tfm_decode_progress_fn),
        ("progress_user", c_void_p),
        ("min_length", c_uint32),
        ("dtype", c_uint32),
        ("length_norm", c_uint32),
        ("no_repeat_ngram", c_uint32),
        ("repetition_penalty", c_float),
        ("min_ratio", c_float),
        ("max_ratio", c_float),
        ("reserved", c_uint32),
        ("forbidden", POINTER(tfm_ids)),
        ("n_forbidden", c_size_t),
        ("temperature", c_float),
        ("top_k", c_uint32),
        ("top_p", c_float),
        ("reserved2", c_uint32),
        ("seed", c_uint64),
        ("long_source", c_uint32),
        ("alignment", c_uint32),
        ("alignment_layer", c_uint32),
        ("alignment_head", c_uint32),
        ("coverage", c_float),
        ("replace_unknown", c_uint32),
    ]


class tfm_partial(Structure):
    _fields_ = [
        ("sentence", c_size_t),
        ("text", tfm_text),
        ("ids", tfm_ids),
    ]


tfm_decode_partial_fn = CFUNCTYPE(c_int32, c_void_p, POINTER(tfm_partial))


tfm_decode_sentence_fn = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t)


class tfm_request(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("n", c_size_t),
        ("lines", POINTER(tfm_text)),
        ("sources", POINTER(tfm_ids)),
        ("prefix_lines", POINTER(tfm_text)),
        ("prefixes", POINTER(tfm_ids)),
        ("n_terms", POINTER(c_size_t)),
        ("term_lines", POINTER(tfm_text)),
        ("terms", POINTER(tfm_ids)),
        ("term_times", POINTER(c_size_t)),
        ("n_placeholders", POINTER(c_size_t)),
        ("placeholders", POINTER(tfm_text)),
        ("partial", tfm_decode_partial_fn),
        ("sentence", tfm_decode_sentence_fn),
        ("user", c_void_p),
        ("placeholder_times", POINTER(c_size_t)),
    ]


class tfm_progress(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("event", c_uint32),
        ("step", c_uint64),
        ("epoch", c_uint64),
        ("steps_total", c_uint64),
        ("source_tokens", c_uint64),
        ("target_tokens", c_uint64),
        ("loss", c_double),
        ("nll", c_double),
        ("learning_rate", c_double),
        ("gradient_norm", c_double),
        ("tokens_per_s", c_double),
        ("seconds", c_double),
        ("seconds_left", c_double),
        ("valid_nll", c_double),
        ("valid_perplexity", c_double),
        ("valid_bleu", c_double),
        ("best_valid", c_double),
        ("path", c_char_p),
        ("message", c_char_p),
        ("skipped", c_uint64),
    ]


tfm_progress_fn = CFUNCTYPE(c_int32, c_void_p, POINTER(tfm_progress))


tfm_reduce_fn = CFUNCTYPE(c_int32, c_void_p, POINTER(c_float), c_size_t)


class tfm_trainer_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_threads", c_uint32),
        ("seed", c_uint64),
        ("dropout", c_float),
        ("dropout_embedding", c_float),
        ("dropout_attention", c_float),
        ("dropout_relu", c_float),
        ("label_smoothing", c_float),
        ("smoothing", c_uint32),
        ("adam_beta1", c_float),
        ("adam_beta2", c_float),
        ("adam_eps", c_float),
        ("lr_scale", c_float),
        ("warmup", c_uint32),
        ("clip_norm", c_float),
        ("batch_tokens", c_uint32),
        ("accumulate", c_uint32),
        ("max_length", c_uint32),
        ("recompute", c_uint32),
        ("max_steps", c_uint64),
        ("max_epochs", c_uint64),
        ("max_seconds", c_double),
        ("valid_every", c_uint64),
        ("valid_bleu", c_uint32),
        ("patience", c_uint32),
        ("checkpoint_path", c_char_p),
        ("checkpoint_steps", c_uint64),
        ("checkpoint_seconds", c_double),
        ("keep", c_uint32),
        ("rank", c_uint32),
        ("n_ranks", c_uint32),
        ("replace_invalid", c_uint32),
        ("reduce", tfm_reduce_fn),
        ("reduce_user", c_void_p),
        ("progress", tfm_progress_fn),
        ("progress_user", c_void_p),
        ("log", tfm_log_fn),
        ("log_user", c_void_p),
        ("allocator", POINTER(tfm_allocator)),
        ("memory", c_uint64),
        ("dtype", c_uint32),
        ("reserved", c_uint32),
        ("max_skipped", c_uint64),
        ("bpe_dropout_source", c_float),
        ("bpe_dropout_target", c_float),
        ("cooldown", c_uint64),
    ]


class tfm_data_report(Structure):
    _fields_ = [
        ("pairs", c_uint64),
        ("blank", c_uint64),
        ("too_long", c_uint64),
        ("source_tokens", c_uint64),
        ("target_tokens", c_uint64),
        ("unknown", c_uint64),
        ("piece_tokens", c_uint64),
        ("memory", c_uint64),
    ]


class tfm_profile_entry(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("reserved", c_uint32),
        ("name", c_char_p),
        ("calls", c_uint64),
        ("seconds", c_double),
        ("flops", c_double),
    ]


class tfm_attention_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("causal", c_uint32),
        ("window", c_uint32),
        ("scale", c_float),
        ("key_length", c_size_t),
        ("mask", POINTER(c_float)),
        ("n_threads", c_uint32),
        ("reserved", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_bleu_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("tokenize", c_uint32),
        ("smooth", c_uint32),
        ("smooth_value", c_float),
        ("lowercase", c_uint32),
        ("compound_split", c_uint32),
        ("max_order", c_uint32),
        ("effective_order", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_bleu_result(Structure):
    _fields_ = [
        ("score", c_double),
        ("brevity", c_double),
        ("precisions", c_double * 8),
        ("matches", c_uint64 * 8),
        ("totals", c_uint64 * 8),
        ("hyp_length", c_uint64),
        ("ref_length", c_uint64),
        ("signature", c_char * 160),
    ]


class tfm_chrf_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("char_order", c_uint32),
        ("word_order", c_uint32),
        ("beta", c_float),
        ("lowercase", c_uint32),
        ("whitespace", c_uint32),
        ("eps_smoothing", c_uint32),
        ("reserved", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_ter_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("case_sensitive", c_uint32),
        ("normalized", c_uint32),
        ("no_punctuation", c_uint32),
        ("asian_support", c_uint32),
        ("reserved", c_uint32),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_metric_result(Structure):
    _fields_ = [
        ("score", c_double),
        ("signature", c_char * 160),
    ]


class tfm_comparison(Structure):
    _fields_ = [
        ("score", c_double * 2),
        ("mean", c_double * 2),
        ("interval", c_double * 2),
        ("p_value", c_double),
        ("signature", c_char * 160),
    ]


class tfm_parseval_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("parameters", c_char_p),
        ("allocator", POINTER(tfm_allocator)),
    ]


class tfm_parseval_row(Structure):
    _fields_ = [
        ("length", c_uint32),
        ("status", c_uint32),
        ("matched", c_uint32),
        ("gold", c_uint32),
        ("test", c_uint32),
        ("crossing", c_uint32),
        ("words", c_uint32),
        ("tags", c_uint32),
    ]


class tfm_parseval_result(Structure):
    _fields_ = [
        ("f1", c_double * 2),
        ("recall", c_double * 2),
        ("precision", c_double * 2),
        ("complete", c_double * 2),
        ("crossing", c_double * 2),
        ("uncrossed", c_double * 2),
        ("little_crossed", c_double * 2),
        ("tagging", c_double * 2),
        ("sentences", c_uint64 * 2),
        ("errors", c_uint64 * 2),
        ("skipped", c_uint64 * 2),
        ("matched_brackets", c_uint64 * 2),
        ("gold_brackets", c_uint64 * 2),
        ("test_brackets", c_uint64 * 2),
        ("crossing_brackets", c_uint64 * 2),
        ("words", c_uint64 * 2),
        ("tags", c_uint64 * 2),
        ("complete_sentences", c_uint64 * 2),
        ("uncrossed_sentences", c_uint64 * 2),
        ("little_crossed_sentences", c_uint64 * 2),
        ("cutoff", c_uint32),
        ("reserved", c_uint32),
        ("signature", c_char * 160),
    ]


class tfm_measurement(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("shape", c_char_p),
        ("twin", c_char_p),
        ("seconds", c_double),
        ("flops", c_double),
        ("bytes", c_double),
    ]


class tfm_measure_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("n_threads", c_uint32),
        ("dtype", c_uint32),
        ("reserved", c_uint32),
        ("seconds", c_double),
        ("allocator", POINTER(tfm_allocator)),
    ]


PROTOTYPES: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "tfm_version": (c_char_p, ()),
    "tfm_status_name": (c_char_p, (c_int32,)),
    "tfm_tokenizer_options_init": (None, (POINTER(tfm_tokenizer_options), c_size_t)),
    "tfm_tokenizer_learn": (c_int, (POINTER(c_void_p), POINTER(tfm_tokenizer_options), POINTER(tfm_text), c_size_t,
        POINTER(tfm_error))),
    "tfm_tokenizer_load": (c_int, (POINTER(c_void_p), c_char_p, POINTER(tfm_allocator), POINTER(tfm_error))),
    "tfm_tokenizer_import": (c_int, (POINTER(c_void_p), c_char_p, POINTER(tfm_text), c_size_t, POINTER(tfm_allocator),
        POINTER(tfm_error))),
    "tfm_tokenizer_restrict": (c_int, (POINTER(c_void_p), c_void_p, c_char_p, c_uint32, POINTER(tfm_text), c_size_t,
        POINTER(tfm_allocator), POINTER(tfm_error))),
    "tfm_tokenizer_keep_case": (c_int, (POINTER(c_void_p), c_void_p, POINTER(tfm_allocator), POINTER(tfm_error))),
    "tfm_tokenizer_pair": (c_int, (POINTER(c_void_p), c_void_p, c_void_p, POINTER(tfm_allocator), POINTER(tfm_error))),
    "tfm_tokenizer_target": (c_void_p, (c_void_p,)),
    "tfm_tokenizer_renumber": (c_int, (POINTER(c_void_p), c_void_p, c_char_p, POINTER(tfm_allocator),
        POINTER(tfm_error))),
    "tfm_tokenizer_save": (c_int, (c_void_p, c_char_p, POINTER(tfm_error))),
    "tfm_tokenizer_export": (c_int, (c_void_p, c_char_p, POINTER(tfm_error))),
    "tfm_tokenizer_free": (None, (c_void_p,)),
    "tfm_tokenizer_vocab_size": (c_uint32, (c_void_p,)),
    "tfm_tokenizer_kind": (c_uint32, (c_void_p,)),
    "tfm_tokenizer_special": (None, (POINTER(tfm_special_ids), c_void_p)),
    "tfm_tokenizer_token": (tfm_text, (c_void_p, c_int32)),
    "tfm_tokenizer_id": (c_int32, (c_void_p, tfm_text)),
    "tfm_tokenizer_encode": (c_int, (POINTER(c_int32), c_size_t, POINTER(c_size_t), c_void_p, tfm_text,
        POINTER(tfm_error))),
    "tfm_tokenizer_decode": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), c_void_p, tfm_ids,
        POINTER(tfm_error))),
    "tfm_tokenizer_segment": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), c_void_p, tfm_text,
        POINTER(tfm_error))),
    "tfm_tokenizer_encode_dropout": (c_int, (POINTER(c_int32), c_size_t, POINTER(c_size_t), c_void_p, tfm_text, c_float,
        c_uint64, c_uint64, POINTER(tfm_error))),
    "tfm_tokenizer_segment_dropout": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), c_void_p, tfm_text, c_float,
        c_uint64, c_uint64, POINTER(tfm_error))),
    "tfm_tokenizer_normalize": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), c_void_p, tfm_text,
        POINTER(tfm_error))),
    "tfm_tokenizer_nbest": (c_int, (POINTER(c_int32), c_size_t, POINTER(c_size_t), POINTER(c_size_t), POINTER(c_float),
        POINTER(c_size_t), c_void_p, tfm_text, POINTER(tfm_error))),
    "tfm_pretokenize_options_init": (None, (POINTER(tfm_pretokenize_options), c_size_t)),
    "tfm_pretokenize": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), POINTER(tfm_pretokenize_options),
        tfm_text, POINTER(tfm_error))),
    "tfm_detokenize": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), POINTER(tfm_pretokenize_options), tfm_text,
        POINTER(tfm_error))),
    "tfm_utf8_check": (c_size_t, (tfm_text,)),
    "tfm_utf8_repair": (None, (POINTER(c_char), c_size_t, POINTER(c_size_t), tfm_text)),
    "tfm_model_options_init": (None, (POINTER(tfm_model_options), c_size_t)),
    "tfm_model_options_preset": (c_int, (POINTER(tfm_model_options), c_char_p, POINTER(tfm_error))),
    "tfm_model_options_set": (c_int, (POINTER(tfm_model_options), c_char_p, c_char_p, POINTER(tfm_error))),
    "tfm_model_options_costs": (c_int, (POINTER(tfm_model_costs), c_size_t, POINTER(tfm_model_options), c_uint32,
        c_uint32, POINTER(tfm_error))),
    "tfm_model_create": (c_int, (POINTER(c_void_p), POINTER(tfm_model_options), c_void_p, POINTER(tfm_error))),
    "tfm_model_create_from": (c_int, (POINTER(c_void_p), POINTER(tfm_model_options), c_void_p, POINTER(tfm_parameter),
        c_size_t, POINTER(tfm_error))),
    "tfm_load_options_init": (None, (POINTER(tfm_load_options), c_size_t)),
    "tfm_model_load": (c_int, (POINTER(c_void_p), c_char_p, POINTER(tfm_load_options), POINTER(tfm_error))),
    "tfm_model_save": (c_int, (c_void_p, c_char_p, POINTER(tfm_error))),
    "tfm_model_save_as": (c_int, (c_void_p, c_char_p, c_uint32, POINTER(tfm_error))),
    "tfm_model_export": (c_int, (c_void_p, c_char_p, c_uint32, POINTER(tfm_error))),
    "tfm_model_dtype": (c_uint32, (c_void_p,)),
    "tfm_model_average": (c_int, (POINTER(c_void_p), POINTER(c_void_p), c_size_t, POINTER(tfm_error))),
    "tfm_model_free": (None, (c_void_p,)),
    "tfm_model_get_options": (None, (POINTER(tfm_model_options), c_size_t, c_void_p)),
    "tfm_model_tokenizer": (c_void_p, (c_void_p,)),
    "tfm_model_parameter_count": (c_size_t, (c_void_p,)),
    "tfm_model_parameter_at": (c_int, (POINTER(tfm_parameter), c_void_p, c_size_t, POINTER(tfm_error))),
    "tfm_model_parameter_named": (c_int, (POINTER(tfm_parameter), c_void_p, c_char_p, POINTER(tfm_error))),
    "tfm_decoder_options_init": (None, (POINTER(tfm_decoder_options), c_size_t)),
    "tfm_decoder_create": (c_int, (POINTER(c_void_p), c_void_p, POINTER(tfm_decoder_options), POINTER(tfm_error))),
    "tfm_decoder_create_ensemble": (c_int, (POINTER(c_void_p), POINTER(c_void_p), POINTER(c_float), c_size_t,
        POINTER(tfm_decoder_options), POINTER(tfm_error))),
    "tfm_decoder_free": (None, (c_void_p,)),
    "tfm_decoder_translate": (c_int, (c_void_p, POINTER(tfm_text), c_size_t, POINTER(tfm_error))),
    "tfm_decoder_translate_ids": (c_int, (c_void_p, POINTER(tfm_ids), c_size_t, POINTER(tfm_error))),
    "tfm_request_init": (None, (POINTER(tfm_request), c_size_t)),
    "tfm_decoder_run": (c_int, (c_void_p, POINTER(tfm_request), POINTER(tfm_error))),
    "tfm_decoder_count": (c_size_t, (c_void_p, c_size_t)),
    "tfm_decoder_text": (tfm_text, (c_void_p, c_size_t, c_size_t)),
    "tfm_decoder_ids": (tfm_ids, (c_void_p, c_size_t, c_size_t)),
    "tfm_decoder_score": (c_double, (c_void_p, c_size_t, c_size_t)),
    "tfm_decoder_token_scores": (POINTER(c_float), (c_void_p, c_size_t, c_size_t, POINTER(c_size_t))),
    "tfm_decoder_alignment": (POINTER(c_float), (c_void_p, c_size_t, c_size_t, c_uint32, POINTER(c_size_t),
        POINTER(c_size_t))),
    "tfm_decoder_pair_alignment": (POINTER(c_float), (c_void_p, c_size_t, c_uint32, POINTER(c_size_t),
        POINTER(c_size_t))),
    "tfm_alignment_links": (c_int, (POINTER(c_char), c_size_t, POINTER(c_size_t), POINTER(c_float), c_size_t, c_size_t,
        c_float, POINTER(tfm_error))),
    "tfm_decoder_steps": (c_uint32, (c_void_p, c_size_t)),
    "tfm_decoder_finished": (c_uint32, (c_void_p, c_size_t, c_size_t)),
    "tfm_decoder_parts": (c_size_t, (c_void_p, c_size_t)),
    "tfm_decoder_logprobs": (c_int, (c_void_p, POINTER(tfm_text), POINTER(tfm_text), c_size_t, POINTER(tfm_error))),
    "tfm_decoder_logprobs_ids": (c_int, (c_void_p, POINTER(tfm_ids), POINTER(tfm_ids), c_size_t, POINTER(tfm_error))),
    "tfm_decoder_token_logprobs": (POINTER(c_float), (c_void_p, c_size_t, POINTER(c_size_t))),
    "tfm_decoder_pair_logprob": (c_double, (c_void_p, c_size_t)),
    "tfm_decoder_attention": (c_int, (POINTER(POINTER(c_float)), POINTER(c_size_t), POINTER(c_size_t), c_void_p,
        tfm_ids, tfm_ids, c_uint32, c_uint32, c_uint32, POINTER(tfm_error))),
    "tfm_decoder_attention_all": (c_int, (POINTER(POINTER(c_float)), POINTER(c_size_t), c_void_p, tfm_ids, tfm_ids,
        c_uint32, POINTER(tfm_error))),
    "tfm_trainer_options_init": (None, (POINTER(tfm_trainer_options), c_size_t)),
    "tfm_trainer_create": (c_int, (POINTER(c_void_p), c_void_p, POINTER(tfm_trainer_options), POINTER(tfm_error))),
    "tfm_trainer_resume": (c_int, (POINTER(c_void_p), c_char_p, POINTER(tfm_trainer_options), POINTER(tfm_error))),
    "tfm_trainer_free": (None, (c_void_p,)),
    "tfm_trainer_set_data": (c_int, (c_void_p, POINTER(tfm_text), POINTER(tfm_text), c_size_t, POINTER(tfm_data_report),
        c_size_t, POINTER(tfm_error))),
    "tfm_trainer_set_data_ids": (c_int, (c_void_p, POINTER(tfm_ids), POINTER(tfm_ids), c_size_t,
        POINTER(tfm_data_report), c_size_t, POINTER(tfm_error))),
    "tfm_trainer_set_valid": (c_int, (c_void_p, POINTER(tfm_text), POINTER(tfm_text), c_size_t, POINTER(tfm_error))),
    "tfm_trainer_step": (c_int, (c_void_p, POINTER(tfm_progress), c_size_t, POINTER(tfm_error))),
    "tfm_trainer_run": (c_int, (c_void_p, POINTER(tfm_error))),
    "tfm_trainer_save": (c_int, (c_void_p, c_char_p, POINTER(tfm_error))),
    "tfm_trainer_model": (c_int, (POINTER(c_void_p), c_void_p, POINTER(tfm_error))),
    "tfm_trainer_profile_count": (c_size_t, (c_void_p,)),
    "tfm_trainer_profile_at": (c_int, (POINTER(tfm_profile_entry), c_size_t, c_void_p, c_size_t, POINTER(tfm_error))),
    "tfm_decoder_profile_count": (c_size_t, (c_void_p,)),
    "tfm_decoder_profile_at": (c_int, (POINTER(tfm_profile_entry), c_size_t, c_void_p, c_size_t, POINTER(tfm_error))),
    "tfm_attention_options_init": (None, (POINTER(tfm_attention_options), c_size_t)),
    "tfm_attention": (c_int, (POINTER(c_float), POINTER(c_float), POINTER(c_float), POINTER(c_float), POINTER(c_float),
        c_size_t, c_size_t, c_size_t, c_size_t, POINTER(tfm_attention_options), POINTER(tfm_error))),
    "tfm_bleu_options_init": (None, (POINTER(tfm_bleu_options), c_size_t)),
    "tfm_bleu": (c_int, (POINTER(tfm_bleu_result), c_size_t, POINTER(tfm_text), c_size_t, POINTER(POINTER(tfm_text)),
        c_size_t, POINTER(tfm_bleu_options), POINTER(tfm_error))),
    "tfm_chrf_options_init": (None, (POINTER(tfm_chrf_options), c_size_t)),
    "tfm_ter_options_init": (None, (POINTER(tfm_ter_options), c_size_t)),
    "tfm_chrf": (c_int, (POINTER(tfm_metric_result), c_size_t, POINTER(tfm_text), c_size_t, POINTER(POINTER(tfm_text)),
        c_size_t, POINTER(tfm_chrf_options), POINTER(tfm_error))),
    "tfm_ter": (c_int, (POINTER(tfm_metric_result), c_size_t, POINTER(tfm_text), c_size_t, POINTER(POINTER(tfm_text)),
        c_size_t, POINTER(tfm_ter_options), POINTER(tfm_error))),
    "tfm_compare": (c_int, (POINTER(tfm_comparison), c_size_t, POINTER(tfm_text), POINTER(tfm_text), c_size_t,
        POINTER(POINTER(tfm_text)), c_size_t, c_uint32, c_void_p, c_uint32, c_uint64, POINTER(tfm_error))),
    "tfm_parseval_options_init": (None, (POINTER(tfm_parseval_options), c_size_t)),
    "tfm_parseval": (c_int, (POINTER(tfm_parseval_result), c_size_t, POINTER(tfm_parseval_row), POINTER(tfm_text),
        POINTER(tfm_text), c_size_t, POINTER(tfm_parseval_options), POINTER(tfm_error))),
    "tfm_measure_options_init": (None, (POINTER(tfm_measure_options), c_size_t)),
    "tfm_measure_kernel_count": (c_size_t, ()),
    "tfm_measure_twin_count": (c_size_t, ()),
    "tfm_measure_kernel": (c_int, (POINTER(tfm_measurement), c_size_t, c_size_t, c_size_t, POINTER(tfm_measure_options),
        POINTER(tfm_error))),
    "tfm_measure_product": (c_int, (POINTER(tfm_measurement), c_size_t, c_size_t, c_size_t, c_size_t,
        POINTER(tfm_measure_options), POINTER(tfm_error))),
}
