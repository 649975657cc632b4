/* tfm attention: what a model looks at while it reads and writes a sentence. */
#include "attention_picture.h"
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1024, MOST_HEADS = 1024, MANY_PAGE_WEIGHTS = 2000000, MOST_PAGE_WEIGHTS = 10000000 };

typedef enum picture_form { FORM_NONE, FORM_HTML, FORM_SVG, FORM_JSON } picture_form;

typedef struct attention_args {
    const char *model, *src_text, *tgt_text, *out, *heads, *token;
    uint32_t kind, layer, skip_checksum; /* kind: 0: all, else TFM_ATTENTION_* + 1; layer: 0: the last, else from 1 */
    uint32_t matrix, words;
    tfm_decoder_options decoder;
} attention_args;

#define AT(field) .offset = offsetof(attention_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"model", "FILE", "of 'tfm train' or 'tfm quantize', or a checkpoint", OPTION_TEXT, .required = true, .file = 'r',
     AT(model)},
    {"src-text", "TEXT", "the sentence that the model reads", OPTION_TEXT, .required = true, AT(src_text)},
    {"tgt-text", "TEXT", "the sentence that it writes; default: its own translation", OPTION_TEXT, AT(tgt_text)},
    {"out", "FILE", "FILE.html: a page, FILE.svg: a figure, FILE.json: the numbers", OPTION_TEXT, .letter = 'o',
     .required = true, .file = 'w', AT(out)},
    {"kind", "all|encoder|decoder|cross",
     "self-attention of the encoder or of the decoder, or the decoder's on the source; a page opens with it and has them all, "
     "a figure shows one; default: all, the decoder's on the source first",
     OPTION_CHOICE, AT(kind)},
    {"layer", "N",
     "counted from 1 as in the paper; a page opens with it and has them all; default: the last, of JSON all",
     OPTION_U32, .low = 1, .high = 256, AT(layer)},
    {"heads", "LIST", "such as 1,3 or 2-4, counted from 1; likewise; default: all", OPTION_TEXT, AT(heads)},
    {"token", "N|WORD",
     "its weights alone are shown; N counts the queries, on the left of a page, from 1; WORD is looked for there, then among "
     "the keys; not for JSON",
     OPTION_TEXT, AT(token)},
    {"view", "lines|matrix", "of a figure; a page opens with it; default: lines", OPTION_CHOICE, AT(matrix)},
    {"words", NULL, "words instead of the pieces of the tokenizer: to one goes the sum, from one the mean; likewise",
     OPTION_FLAG, AT(words)},
    {"beam", "N", "hypotheses kept when the model translates", OPTION_U32, .low = 1, .needs = "!tgt-text",
     AT(decoder.beam)},
    {"dtype", "f32|bf16|int8", "type of weights and arithmetic; a quantised model is always int8", OPTION_CHOICE,
     AT(decoder.dtype)},
    {"threads", "N", "processors to use; the result does not depend on it; default: all", OPTION_U32,
     AT(decoder.n_threads)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

typedef struct drawing {
    const attention_args *args;
    picture_form form;
    tfm_model *model;
    tfm_model_options options;
    tfm_decoder *decoder;
    tfm_ids source, target; /* owned */
    bool heads[MOST_HEADS];
    attention_picture picture;
    tfm_error error;
} drawing;

static picture_form form_of(const char *path)
{
    static const char *const names[] = {[FORM_HTML] = ".html", [FORM_SVG] = ".svg", [FORM_JSON] = ".json"};
    const char *dot = strrchr(path, '.');
    for (picture_form form = FORM_HTML; dot && form <= FORM_JSON; form++)
        if (strcmp(dot, names[form]) == 0) return form;
    return FORM_NONE;
}

static int fail_library(const drawing *d)
{
    return console_fail("%s", d->error.message);
}

static int check_sentence(const char *option, const char *text)
{
    const size_t offset = tfm_utf8_check((tfm_text){text, strlen(text)});
    if (offset != SIZE_MAX) return console_usage("--%s is not UTF-8: byte %zu", option, offset + 1);
    if (!text[strspn(text, " \t\r\n")]) return console_usage("--%s is blank: there is nothing to look at", option);
    return EXIT_SUCCESS;
}

static int check(drawing *d)
{
    const attention_args *a = d->args;
    d->form = form_of(a->out);
    if (d->form == FORM_NONE) return console_usage("--out is '%s'; its end must be .html, .svg or .json", a->out);
    if (d->form == FORM_JSON && a->kind == 0 && a->layer > 0)
        return console_usage("--layer of JSON needs --kind: encoder and decoder have layers of their own");
    if (d->form == FORM_JSON && (a->token || a->matrix || a->words))
        return console_usage(
            "--token, --view and --words are of pages and figures; JSON has the numbers of all tokens");
    const int code = check_sentence("src-text", a->src_text);
    return code || !a->tgt_text ? code : check_sentence("tgt-text", a->tgt_text);
}

static void keep(tfm_ids *to, const int32_t *ids, size_t n)
{
    int32_t *copy = NULL;
    size_t capacity = 0;
    memory_grow(&copy, &capacity, n, sizeof *copy);
    memcpy(copy, ids, n * sizeof *copy);
    *to = (tfm_ids){copy, n};
}

/* ends: the end of the sentence is added. */
static int encode(drawing *d, tfm_ids *to, const tfm_tokenizer *tokenizer, const char *text, bool ends)
{
    int32_t ids[MOST_TOKENS + 1];
    size_t n;
    if (tfm_tokenizer_encode(ids, MOST_TOKENS, &n, tokenizer, (tfm_text){text, strlen(text)}, &d->error))
        return fail_library(d);
    if (n > MOST_TOKENS) return console_fail("the sentence has %zu tokens, a picture at most %d", n, MOST_TOKENS);
    if (ends) ids[n++] = (int32_t)d->options.eos_id;
    keep(to, ids, n);
    return EXIT_SUCCESS;
}

static int translate(drawing *d)
{
    if (tfm_decoder_translate_ids(d->decoder, &d->source, 1, &d->error)) return fail_library(d);
    const tfm_ids ids = tfm_decoder_ids(d->decoder, 0, 0);
    if (ids.size == 0) return console_fail("the model translates this with nothing; give --tgt-text");
    if (ids.size > MOST_TOKENS)
        return console_fail("the translation has %zu tokens, a picture at most %d", ids.size, MOST_TOKENS);
    keep(&d->target, ids.data, ids.size);
    return EXIT_SUCCESS;
}

/* The translation's text, owned. */
static tfm_text decoded(const drawing *d)
{
    const tfm_tokenizer *tokenizer = tfm_model_tokenizer(d->model);
    char *text = NULL;
    size_t size = 0, capacity = 0;
    tfm_tokenizer_decode(NULL, 0, &size, tokenizer, d->target, NULL);
    memory_grow(&text, &capacity, size + 1, 1);
    tfm_tokenizer_decode(text, size, &size, tokenizer, d->target, NULL);
    return (tfm_text){text, size};
}

/* The first unit whose text is `word`, u->size when there is none; times: how many there are. */
static size_t find_word(const units *u, const char *word, size_t *times)
{
    size_t first = u->size;
    *times = 0;
    for (size_t i = u->size; i-- > 0;) {
        if (strcmp(u->items[i].text, word) != 0) continue;
        first = i;
        ++*times;
    }
    return first;
}

static int find_token(drawing *d, const char *token)
{
    attention_picture *p = &d->picture;
    const attention_kind *k = &p->kinds[p->kind];
    const units *queries = &p->units[k->queries], *keys = &p->units[k->keys];
    const bool number = *token && !token[strspn(token, "0123456789")];
    size_t times = 0, index = number ? strtoul(token, NULL, 10) - 1 : find_word(queries, token, &times);
    const bool key = !number && times == 0;
    if (key) index = find_word(keys, token, &times);
    if (times > 1)
        return console_usage("--token is '%s', which is there %zu times, first as number %zu; %s", token, times,
                             index + 1, key ? "of keys only a word that is there once can be chosen" : "give a number");
    if (index >= (key ? keys : queries)->size)
        return console_usage("--token is '%s', neither a number in 1..%zu nor one of the %s", token, queries->size,
                             p->words ? "words" : "tokens; a word in pieces needs --words");
    p->token.chosen = true;
    p->token.key = key;
    p->token.index = index;
    return EXIT_SUCCESS;
}

static int read_sentences(drawing *d)
{
    const attention_args *a = d->args;
    const tfm_tokenizer *tokenizer = tfm_model_tokenizer(d->model), *target = tfm_tokenizer_target(tokenizer);
    attention_picture *p = &d->picture;
    if (!tokenizer) return console_fail("%s has no tokenizer, so it cannot read text", a->model);
    int code = encode(d, &d->source, tokenizer, a->src_text, !d->options.plain_source);
    if (!code) code = a->tgt_text ? encode(d, &d->target, target, a->tgt_text, true) : translate(d);
    if (code) return code;
    const int32_t eos = (int32_t)d->options.eos_id;
    p->translated = !a->tgt_text;
    p->source = (tfm_text){a->src_text, strlen(a->src_text)};
    p->target = decoded(d);
    pieces_add(&p->sides[SIDE_SOURCE], tokenizer, d->source, eos);
    pieces_add(&p->sides[SIDE_TARGET], target, d->target, eos);
    pieces_add_special(&p->sides[SIDE_INPUTS], d->options.start == TFM_START_ZERO ? -1 : (int32_t)d->options.bos_id,
                       "<s>");
    pieces_add(&p->sides[SIDE_INPUTS], target, (tfm_ids){d->target.data, d->target.size - 1}, eos);
    for (int i = 0; i < SIDES; i++) units_add(&p->units[i], &p->sides[i], a->words);
    return a->token ? find_token(d, a->token) : EXIT_SUCCESS;
}

static int check_weights(const attention_kind *k)
{
    const size_t of_head = k->shape[2] * k->shape[3];
    for (size_t i = 0; i < k->shape[0] * k->shape[1] * of_head; i++)
        if (!isfinite(k->weights[i]))
            return console_fail(
                "%s: a weight of layer %zu, head %zu is not a number: the training went wrong or the file "
                "is damaged; take an earlier checkpoint",
                k->title, i / of_head / k->shape[1] + 1, i / of_head % k->shape[1] + 1);
    return EXIT_SUCCESS;
}

/* The model's weights of one kind, copied: the decoder lends them until its next call. */
static int look(drawing *d, uint32_t kind)
{
    attention_kind *k = &d->picture.kinds[kind];
    const float *weights;
    size_t capacity = 0;
    if (tfm_decoder_attention_all(&weights, k->shape, d->decoder, d->source, d->target, kind, &d->error))
        return fail_library(d);
    const size_t n = k->shape[0] * k->shape[1] * k->shape[2] * k->shape[3];
    memory_grow(&k->weights, &capacity, n, sizeof *k->weights);
    memcpy(k->weights, weights, n * sizeof *weights);
    return check_weights(k);
}

/* A page has the weights of all layers and heads, about three bytes each. */
static int check_page_size(const drawing *d)
{
    const tfm_model_options *o = &d->options;
    const uint64_t s = d->source.size, t = d->target.size;
    const uint64_t n = o->n_heads * (o->n_encoder_layers * s * s + o->n_decoder_layers * t * (t + s));
    char count[32], most[32];
    format_count(count, n);
    if (n > MOST_PAGE_WEIGHTS)
        return console_fail(
            "%zu source and %zu target tokens make a page of %s weights, at most %s fit; --out FILE.svg and "
            "FILE.json have no such limit",
            d->source.size, d->target.size, count, format_count(most, MOST_PAGE_WEIGHTS));
    if (n > MANY_PAGE_WEIGHTS) console_warn("the page has %s weights: a browser takes a while to open it", count);
    return EXIT_SUCCESS;
}

static int look_at_all(drawing *d)
{
    const uint32_t wanted = d->args->kind;
    int code = EXIT_SUCCESS;
    for (uint32_t kind = 0; kind < ATTENTION_KINDS && !code; kind++)
        if (d->form == FORM_HTML || wanted == 0 || wanted == kind + 1) code = look(d, kind);
    return code;
}

/* "1,3-5", from 1. */
static int read_heads(drawing *d, const char *list)
{
    const size_t n = d->options.n_heads;
    const char *at = list;
    do {
        char *end;
        const unsigned long first = strtoul(at, &end, 10);
        const char *to = *end == '-' ? end + 1 : at;
        const unsigned long last = to == at ? first : strtoul(to, &end, 10);
        if (*at < '1' || *at > '9' || *to < '1' || *to > '9' || (*end && *end != ',') || last < first || last > n)
            return console_usage("--heads is '%s', not a list such as 1,3 or 2-4 of heads in 1..%zu", list, n);
        for (unsigned long h = first; h <= last; h++) d->heads[h - 1] = true;
        at = *end ? end + 1 : NULL;
    } while (at);
    d->picture.heads = d->heads;
    return EXIT_SUCCESS;
}

static int choose(drawing *d)
{
    const attention_args *a = d->args;
    attention_picture *p = &d->picture;
    p->kind = a->kind ? a->kind - 1 : TFM_ATTENTION_CROSS;
    p->one_layer = a->layer > 0;
    p->matrix = a->matrix > 0;
    p->words = a->words > 0;
    const uint32_t layers =
        p->kind == TFM_ATTENTION_ENCODER ? d->options.n_encoder_layers : d->options.n_decoder_layers;
    if (a->layer > layers) return console_usage("--layer is %u, not in 1..%u", a->layer, layers);
    p->layer = (a->layer ? a->layer : layers) - 1;
    return a->heads ? read_heads(d, a->heads) : EXIT_SUCCESS;
}

static int write_picture(const drawing *d)
{
    text_writer out;
    const bool opened = text_writer_open(&out, d->args->out);
    if (opened && d->form == FORM_HTML) attention_write_html(out.file, &d->picture);
    if (opened && d->form == FORM_SVG) attention_write_svg(out.file, &d->picture);
    if (opened && d->form == FORM_JSON) attention_write_json(out.file, &d->picture);
    if (!text_writer_close(&out, opened)) return EXIT_FAILURE;
    console_say("wrote %s: %zu source and %zu target tokens", d->args->out, d->source.size, d->target.size);
    return EXIT_SUCCESS;
}

static int draw(drawing *d)
{
    const attention_args *a = d->args;
    if (model_load(&d->model, a->model, a->skip_checksum, &d->error) ||
        tfm_decoder_create(&d->decoder, d->model, &a->decoder, &d->error))
        return fail_library(d);
    tfm_model_get_options(&d->options, sizeof d->options, d->model);
    int code = choose(d);
    if (!code) code = read_sentences(d);
    if (!code && d->form == FORM_HTML) code = check_page_size(d);
    if (!code) code = look_at_all(d);
    return code ? code : write_picture(d);
}

static void init(void *place)
{
    attention_args *args = place;
    tfm_decoder_options_init(&args->decoder, sizeof args->decoder);
    args->decoder.n_threads = 0;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const attention_args *args = place;
    const char *slash = strrchr(args->model, '/');
    drawing d = {
        .args = args,
        .picture = {.model = slash ? slash + 1 : args->model,
                    .kinds = {{"encoder", "Encoder self-attention", SIDE_SOURCE, SIDE_SOURCE, {0}, NULL},
                              {"decoder", "Decoder self-attention", SIDE_TARGET, SIDE_INPUTS, {0}, NULL},
                              {"cross", "Encoder-decoder attention", SIDE_TARGET, SIDE_SOURCE, {0}, NULL}}},
    };
    int code = check(&d);
    if (!code && !output_path_check(args->out)) code = EXIT_FAILURE;
    if (!code) code = draw(&d);
    for (int i = 0; i < SIDES; i++) {
        units_free(&d.picture.units[i]);
        pieces_free(&d.picture.sides[i]);
    }
    for (int i = 0; i < ATTENTION_KINDS; i++) free(d.picture.kinds[i].weights);
    free((void *)(uintptr_t)d.picture.target.data);
    free((void *)(uintptr_t)d.source.data);
    free((void *)(uintptr_t)d.target.data);
    tfm_decoder_free(d.decoder);
    tfm_model_free(d.model);
    return code;
}

const command command_attention = {
    .name = "attention",
    .summary = "draws what a model looks at in a sentence",
    .usage = "--model FILE --src-text TEXT [--tgt-text TEXT] --out FILE [options]",
    .text =
        "Draws the attention weights of every head (section 3.2 of the paper, and its Figures 3 to 5): how much each token of "
        "a sentence counts when the model reads or writes another one.\n"
        "FILE.html is a page of its own, which needs no network: layers and heads to choose, a token's lines by themselves when "
        "the pointer or the keyboard is on it, lines or matrices, light and dark, also for printing. FILE.svg is one layer as "
        "a figure for a paper. FILE.json has all weights for scripts: attention[i].weights[layer][head][query][key].",
    .examples = "  tfm attention --model en-de.tfm --src-text 'a man rides a bicycle' -o page.html\n"
                "  tfm attention --model en-de.tfm --src-text 'the cat' --tgt-text 'die Katze' -o page.html\n"
                "  tfm attention --model en-de.tfm --src-text 'the cat' --kind encoder --layer 2 -o fig.svg\n"
                "  tfm attention --model en-de.tfm --src-text 'the cat' --kind encoder --token cat -o cat.svg\n"
                "  tfm attention --model en-de.tfm --src-text 'the cat' --heads 1,3-4 -o weights.json\n",
    .options = rows,
    .args_size = sizeof(attention_args),
    .init = init,
    .run = run,
};
