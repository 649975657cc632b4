/* Writes the inputs that the fuzzers begin with, made by the library itself. Usage: seeds FOLDER, which gets a folder
 * for each. */
#include "fuzz_pairs.h"
#include "fuzz_texts.h"
#include "../foreign_samples.h"
#include "open_file.h"

#include "../spm_file.h"

#include <sys/stat.h>
#include <zlib.h>

static const char *folder;

/* FOLDER/fuzzer/name, with its folders; the text is good until the next call but one. */
static const char *place(const char *fuzzer, const char *name)
{
    static char paths[2][4096];
    static int which;
    char *path = paths[which ^= 1];

    mkdir(folder, 0777);
    snprintf(path, sizeof *paths, "%s/%s", folder, fuzzer);
    mkdir(path, 0777);
    snprintf(path, sizeof *paths, "%s/%s/%s", folder, fuzzer, name);
    return path;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    FUZZ_REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void write_text(const char *fuzzer, const char *name, const char *text)
{
    write_bytes(place(fuzzer, name), text, strlen(text));
}

/* A copy of a native file without its checksums. */
static void write_open(const char *from, const char *fuzzer, const char *name)
{
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");

    FUZZ_REQUIRE(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    FUZZ_REQUIRE(size < sizeof bytes && fclose(file) == 0);
    FUZZ_REQUIRE(open_file(bytes, size));
    write_bytes(place(fuzzer, name), bytes, size);
}

/* ---------------------------------------------------------------------------------------------------- kinds ---- */

static tfm_tokenizer *learn(uint32_t kind)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = kind;
    o.vocab_size = 266;
    o.merges = 6;
    FUZZ_REQUIRE(tfm_tokenizer_learn(&t, &o, fuzz_corpus, FUZZ_CORPUS, NULL) == TFM_OK);
    return t;
}

static tfm_model *create(const char *norm_order, const char *sharing, const tfm_tokenizer *t)
{
    tfm_model_options o;
    tfm_model *model;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 4;
    o.n_heads = 2;
    o.vocab_size = t ? tfm_tokenizer_vocab_size(t) : FUZZ_VOCAB;
    FUZZ_REQUIRE(tfm_model_options_set(&o, "norm_order", norm_order, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_model_options_set(&o, "sharing", sharing, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_model_create(&model, &o, t, NULL) == TFM_OK);
    return model;
}

static void write_model(const char *name, const tfm_model *model, uint32_t dtype)
{
    char open_name[64];
    const char *path = place("model", name);

    FUZZ_REQUIRE(tfm_model_save_as(model, path, dtype, NULL) == TFM_OK);
    snprintf(open_name, sizeof open_name, "%s-open", name);
    write_open(path, "model", open_name);
    if (tfm_model_tokenizer(model)) write_open(path, "tokenizer", open_name);
}

static void write_models(void)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT);
    tfm_model *post = create("post", "all", NULL), *pre = create("pre", "none", NULL), *text = create("post", "all", t);

    write_model("post", post, TFM_DTYPE_F32);
    write_model("pre", pre, TFM_DTYPE_F32);
    write_model("int8", post, TFM_DTYPE_INT8);
    write_model("text", text, TFM_DTYPE_F32);
    tfm_model_free(post);
    tfm_model_free(pre);
    tfm_model_free(text);
    tfm_tokenizer_free(t);
}

static void write_foreign(void)
{
    static unsigned char bytes[SAMPLE_ROOM];
    char name[16];
    sample s;

    for (size_t i = 0; i < CT2_FORMS; i++) {
        s = (sample){.bytes = bytes};
        ct2_sample(&s, &ct2_forms[i]);
        snprintf(name, sizeof name, "ct2-%zu", i);
        write_bytes(place("model", name), s.bytes, s.size);
    }
    for (int deflated = 0; deflated < 2; deflated++) {
        s = (sample){.bytes = bytes};
        marian_sample(&s, MARIAN_YML, deflated);
        write_bytes(place("model", deflated ? "marian-deflated" : "marian"), s.bytes, s.size);
    }
}

/* One file of a model in several, behind a byte that says which; see fuzz_folder.c. */
static void write_beside(const char *name, uint8_t which, const void *bytes, size_t size)
{
    static uint8_t all[1 + SAMPLE_ROOM];

    all[0] = which;
    memcpy(all + 1, bytes, size);
    write_bytes(place("folder", name), all, 1 + size);
}

static void write_folders(void)
{
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"config", HF_CONFIG},
        {NULL, NULL},
        {"generation", "{\"decoder_start_token_id\":3,\"bos_token_id\":null}"},
        {"index", "{\"metadata\":{},\"weight_map\":{\"model.shared.weight\":\"model-1.safetensors\"}}"},
        {NULL, NULL},
        {"ct2-config", "{\"layer_norm_epsilon\":1e-6,\"decoder_start_token\":\"</s>\",\"unk_token\":\"<unk>\"}"},
        {"ct2-list", "[\"<blank>\",\"<s>\",\"</s>\",\"a\",\"b\"]"},
        {"ct2-lines", "<blank>\n<s>\r\n</s>\na\nb"},
        {NULL, NULL},
        {"decoder.yml", OPUS_DECODER},
        {"vocab.yml", OPUS_VOCABULARY}};
    static unsigned char bytes[SAMPLE_ROOM];
    static spm_file v;
    sample s = {.bytes = bytes};

    for (uint8_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].name) write_beside(texts[i].name, i, texts[i].text, strlen(texts[i].text));
    hf_sample(&s);
    write_beside("model.safetensors", 1, s.bytes, s.size);
    s = (sample){.bytes = bytes};
    ct2_sample(&s, &(ct2_form){6, CT2_F32, "TransformerSpec"});
    write_beside("model.bin", 4, s.bytes, s.size);
    spm_marian(&v);
    write_beside("vocab.spm", 8, v.bytes, v.size);
    spm_small(&v, (spm_form){.model = 2});
    write_beside("target.spm", 11, v.bytes, v.size);
}

static void write_checkpoints(void)
{
    const tfm_trainer_options o = fuzz_trainer_options();
    tfm_model *model = create("post", "all", NULL);
    const char *path = place("checkpoint", "whole");
    tfm_trainer *t;

    FUZZ_REQUIRE(tfm_trainer_create(&t, model, &o, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_trainer_set_data_ids(t, fuzz_sources, fuzz_targets, FUZZ_PAIRS, NULL, 0, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_trainer_step(t, NULL, 0, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_trainer_save(t, path, NULL) == TFM_OK);
    write_open(path, "checkpoint", "open");
    tfm_trainer_free(t);
    tfm_model_free(model);
}

static void write_tokenizers(void)
{
    tfm_tokenizer *bpe = learn(TFM_TOKENIZER_BPE), *subword = learn(TFM_TOKENIZER_SUBWORD_NMT);

    FUZZ_REQUIRE(tfm_tokenizer_save(bpe, place("tokenizer", "bpe"), NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_save(subword, place("tokenizer", "subword-nmt"), NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_export(subword, place("codes", "codes"), NULL) == TFM_OK);
    write_text("codes", "crlf", "#version: 0.2\r\nt h\r\nth e</w>\r\n");
    write_text("vocabulary", "counts", "the 9\nw@@ 4\ni@@ 3\nd@@ 3\ner 1\n");
    write_text(
        "tokenizer", "restricted",
        "tfm-tokenizer 1 subword-nmt 7 tokens 2 merges restricted 1 glossaries\n<pad>\n<eos>\n<bos>\n<unk>\nt@@\n"
        "owe\nowe@@\nt h\nth e</w>\nowe\n");
    tfm_tokenizer *wordpiece = learn(TFM_TOKENIZER_WORDPIECE);
    FUZZ_REQUIRE(tfm_tokenizer_save(wordpiece, place("tokenizer", "wordpiece"), NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_export(wordpiece, place("tokenizer", "subwords"), NULL) == TFM_OK);
    write_text("tokenizer", "bert", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nlow\n##er\n##est\nw\n##i\n##d\n,\n");
    write_text("tokenizer", "cased", "tfm-tokenizer 1 bert 6 tokens 0 merges cased\n[PAD]\n[UNK]\nThe\nlow\n##er\nw\n");
    tfm_tokenizer_free(wordpiece);
    tfm_tokenizer_free(bpe);
    tfm_tokenizer_free(subword);
}

static void write_sentencepiece(void)
{
    static const char *const names[] = {"unigram", "bpe", "word", "character"};
    static spm_file f;

    for (unsigned i = 0; i < 8; i++) {
        char name[32];
        spm_small(&f, (spm_form){.model = i % 4 + 1, .bytes = i > 3, .shifted = i > 3, .plain = i == 5});
        snprintf(name, sizeof name, "%s%s", names[i % 4], i > 3 ? "-bytes" : "");
        write_bytes(place("sentencepiece", name), f.bytes, f.size);
    }
}

/* Pieces with other ids, pairs of them, and the files that have these ids. */
static void write_pairs(void)
{
    static const char yaml[] = "\"</s>\": 0\n<unk>: 1\nabc: 3\n'k': 2\n- \"\\u2581\\\"\": 4\n\">>x<<\": 5\n";
    static const char json[] = "{\"</s>\": 0, \"<unk>\": 1, \"\\ud83d\\ude00\": 3, \"\\u2581abc\": 2, \"<pad>\": 4}";
    tfm_tokenizer *bpe = learn(TFM_TOKENIZER_BPE), *spm, *t, *pair;
    static spm_file f;

    spm_small(&f, (spm_form){.model = 2});
    write_bytes(place("tokenizer", "unigram"), f.bytes, f.size);
    write_text("renumber", "yaml", yaml);
    write_text("renumber", "json", json);
    FUZZ_REQUIRE(tfm_tokenizer_load(&spm, place("tokenizer", "unigram"), NULL, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_renumber(&t, spm, place("renumber", "yaml"), NULL, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_save(t, place("tokenizer", "renumbered"), NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_pair(&pair, t, bpe, NULL, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_save(pair, place("tokenizer", "pair"), NULL) == TFM_OK);
    tfm_tokenizer_free(pair);
    FUZZ_REQUIRE(tfm_tokenizer_pair(&pair, spm, t, NULL, NULL) == TFM_OK);
    FUZZ_REQUIRE(tfm_tokenizer_save(pair, place("tokenizer", "pair-pieces"), NULL) == TFM_OK);
    tfm_tokenizer_free(pair);
    tfm_tokenizer_free(t);
    tfm_tokenizer_free(spm);
    tfm_tokenizer_free(bpe);
}

static void write_trees(void)
{
    static const char *const texts[] = {
        "(TOP (S-X (NP (`` \") (NN a)) (VP (VB b) (NP=1 (-NONE- *)) (. .))))\n(S (NP (POS \") (NN a)) (VP (VB b)))\n",
        "DELETE_LABEL ''\nDELETE_LABEL_FOR_LENGTH X\nQUOTE_LABEL POS\nQUOTE_LABEL ''\nEQ_LABEL A B\nEQ_WORD x y\nLABELED 1\nCUTOFF_LEN 3\n"
        "MAX_ERROR 9\nDEBUG 0\n#\n\n(S (A (C x) ('' ')) (D z))\n(S (B (C y) (POS ')) (D z))\n(S (A x))\n\n",
    };

    write_text("parseval", "collins", texts[0]);
    write_text("parseval", "rules", texts[1]);
}

/* The first character says language and options; see fuzz_pretokenize.c. */
static void write_words(void)
{
    static const char *const lines[] = {"xMr. Smith isn't 5,000... \"so\" 'a.'",
                                        "|\xE2\x80\x9Ez.B. 3. Mai,\xE2\x80\x9C (b) sagt's.",
                                        "zL'eau \xC2\xAB\xC2\xA0oui\xC2\xA0\xC2\xBB 10\xC2\xA0" "000 a-b-c, &apos; @-@",
                                        " &amp;quot; a &quot; ''`` [b] <c> | $ ( x )"};
    char name[16];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(name, sizeof name, "%zu", i);
        write_text("pretokenize", name, lines[i]);
    }
}


static void write_texts(void)
{
    static const char *const texts[] = {"the lower the newer",
                                        "  two  spaces\t\r",
                                        "<pad> <0x41> </w> @@ \xE2\x96\x81",
                                        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
                                        "\xC3 \xED\xA0\x80 \xF4\x90\x80\x80 \xC0\x80",
                                        "a\nb\n\nc",
                                        "he-llo, 1.5 \xE2\x80\x94 &quot;x&quot;\nhe llo\n1,5\n"};
    char name[16];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(name, sizeof name, "%zu", i);
        write_text("text", name, texts[i]);
        write_text("learn", name, texts[i]);
        write_text("bleu", name, texts[i]);
        write_text("metrics", name, texts[i]);
        write_text("lines", name, texts[i]);
    }
    write_words();
    write_trees();
    gzFile file = gzopen(place("lines", "gzip"), "wb");
    FUZZ_REQUIRE(file && gzputs(file, "a line\nand another\r\nthe last") > 0 && gzclose(file) == Z_OK);
}

/* Requests of any kind: what fuzz_decode.c makes of random bytes. */
static void write_requests(void)
{
    uint8_t bytes[400];
    uint64_t state = 1;
    char name[16];

    for (unsigned i = 0; i < 60; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[k] = (uint8_t)(state >> 56);
        }
        bytes[0] = (uint8_t)i; /* each model */
        snprintf(name, sizeof name, "%u", i);
        write_bytes(place("decode", name), bytes, sizeof bytes);
    }
}

/* ---------------------------------------------------------------------------------- options and arguments ---- */

static void write_struct(uint8_t which, const void *options, size_t size)
{
    uint8_t bytes[512] = {which};
    char name[16];

    FUZZ_REQUIRE(size < sizeof bytes);
    memcpy(bytes + 1, options, size);
    snprintf(name, sizeof name, "%u", which);
    write_bytes(place("options", name), bytes, 1 + size);
}

#define STRUCT(which, type)                \
    do {                                   \
        tfm_##type o;                      \
        tfm_##type##_init(&o, sizeof o);   \
        write_struct(which, &o, sizeof o); \
    } while (0)

/* In the order of fuzz_options.c. */
static void write_structs(void)
{
    tfm_model_options small;

    STRUCT(0, tokenizer_options);
    STRUCT(2, load_options);
    STRUCT(3, decoder_options);
    STRUCT(4, trainer_options);
    STRUCT(5, attention_options);
    STRUCT(6, bleu_options);
    STRUCT(7, measure_options);
    STRUCT(9, chrf_options);
    STRUCT(10, ter_options);
    tfm_model *model = create("post", "all", NULL);
    tfm_model_get_options(&small, sizeof small, model);
    tfm_model_free(model);
    write_struct(1, &small, sizeof small);
    write_text("options", "words", "\10layer_norm_eps=1e-5");
}

static void write_arguments(void)
{
    static const char *const lines[] = {
        "--help",
        "--version",
        "train\n--help=man",
        "tokenizer",
        "bench\n--help",
        "train\n--src\na\n--tgt=b\n--model\nc\n--set\nd_model=4\n--max-time\n2h\n--memory\n4GiB",
        "translate\n--model=m\n--beam\n5\n--alpha\n.7\n--dtype\nint8\n--stats",
        "evaluate\n--hyp\na\n--ref\nb\n--tokenize\nintl",
        "average\n-o\nx\n--\n-a\nb",
        "bench\ngemm\n--threads\n2",
        "tokenizer\nlearn\n-ox\n--vocab-size=300\n--quiet",
        "attention\n--model\nm\n--src-text\na b\n--kind=cross\n--layer\n2\n--heads\n1,3-4\n-ox.svg",
        "report\na.csv\nb.csv\n-o\nc.html"};
    char name[16];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(name, sizeof name, "%zu", i);
        write_text("arguments", name, lines[i]);
    }
}

static void write_logs(void)
{
    static const char header[] =
        "event,step,epoch,seconds,loss,nll,learning_rate,gradient_norm,source_tokens,target_tokens,"
        "tokens_per_s,valid_nll,valid_perplexity,valid_bleu\n";
    static const char *const rows[] = {
        "step,1,0,0.5,6.5,6.25,1e-05,2,10,20,100.5,,,\nvalid,1,0,0.6,,,,,,,,6,403.4,1.5\ndone,1,0,0.7,,,,,,,,,,\n",
        "step,5,0,9,2,2,1e-5,2,1,2,3,,,\nstep,6,0,10,2,2,1e-5,2,1,2,3,,,\nstep,5,0,1,nan,inf,-1e400,2,1,2,3,,,\nstep,6",
        "\"step\",\"1\",0,x,\"a\"\"b\",,,,,,,,,,,,\n\nstep,,,\n\"valid\",1e99,0,-5,,,,,,,,1,1,1\nstep,1e99,,,,,,,,,,,,\n"};
    char name[16], text[1024];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(name, sizeof name, "%zu", i);
        snprintf(text, sizeof text, "%s%s", header, rows[i]);
        write_text("log", name, text);
    }
    write_text("log", "old", "loss,extra,event,step\n2.5,x,step,1\n");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    write_models();
    write_foreign();
    write_folders();
    write_checkpoints();
    write_tokenizers();
    write_pairs();
    write_sentencepiece();
    write_texts();
    write_requests();
    write_structs();
    write_arguments();
    write_logs();
    return 0;
}
