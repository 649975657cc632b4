/* Learns a phrase book of eight lines by heart, saves the model, and translates with it. Usage: hello [MODEL_FILE] */
#include <stdio.h>
#include <string.h>
#include <transformer.h>

#define TEXT(literal)               \
    {                               \
        literal, sizeof literal - 1 \
    }
enum { PHRASES = 8 };

static const tfm_text english[PHRASES] = {TEXT("good morning"), TEXT("good evening"),  TEXT("good night"),
                                          TEXT("thank you"),    TEXT("please"),        TEXT("see you tomorrow"),
                                          TEXT("how are you?"), TEXT("where are you?")};
static const tfm_text german[PHRASES] = {
    TEXT("guten Morgen"), TEXT("guten Abend"), TEXT("gute Nacht"),       TEXT("danke"),
    TEXT("bitte"),        TEXT("bis morgen"),  TEXT("wie geht es dir?"), TEXT("wo bist du?")};

static tfm_status learn(tfm_model **out, tfm_error *error)
{
    tfm_tokenizer_options words;
    tfm_model_options sizes;
    tfm_trainer_options training;
    tfm_tokenizer *tokenizer = NULL;
    tfm_model *blank = NULL;
    tfm_trainer *trainer = NULL;
    tfm_text both[2 * PHRASES];

    memcpy(both, english, sizeof english);
    memcpy(both + PHRASES, german, sizeof german);
    tfm_tokenizer_options_init(&words, sizeof words);
    words.vocab_size = 300;
    tfm_model_options_init(&sizes, sizeof sizes);
    tfm_trainer_options_init(&training, sizeof training);
    training.dropout = 0;
    training.warmup = 50;
    training.lr_scale = 0.15f;
    training.max_steps = 150;

    tfm_status status = tfm_model_options_preset(&sizes, "tiny", error);
    if (!status) status = tfm_tokenizer_learn(&tokenizer, &words, both, 2 * PHRASES, error);
    if (!status) {
        sizes.vocab_size = tfm_tokenizer_vocab_size(tokenizer);
        status = tfm_model_create(&blank, &sizes, tokenizer, error);
    }
    if (!status) status = tfm_trainer_create(&trainer, blank, &training, error);
    if (!status) status = tfm_trainer_set_data(trainer, english, german, PHRASES, NULL, 0, error);
    if (!status) status = tfm_trainer_run(trainer, error);
    if (!status) status = tfm_trainer_model(out, trainer, error);
    tfm_trainer_free(trainer);
    tfm_model_free(blank);
    tfm_tokenizer_free(tokenizer);
    return status;
}

/* Prints what the model makes of each phrase; *right receives how many are as in the book. */
static tfm_status recite(const tfm_model *model, int *right, tfm_error *error)
{
    tfm_decoder_options options;
    tfm_decoder *decoder = NULL;

    tfm_decoder_options_init(&options, sizeof options);
    tfm_status status = tfm_decoder_create(&decoder, model, &options, error);
    if (!status) status = tfm_decoder_translate(decoder, english, PHRASES, error);
    for (size_t i = 0; !status && i < PHRASES; i++) {
        const char *answer = tfm_decoder_text(decoder, i, 0).data;
        printf("%-16s -> %s\n", english[i].data, answer);
        *right += strcmp(answer, german[i].data) == 0;
    }
    tfm_decoder_free(decoder);
    return status;
}

int main(int argc, char **argv)
{
    tfm_error error = {0};
    tfm_model *model = NULL;
    int right = 0;

    tfm_status status = learn(&model, &error);
    if (!status && argc > 1) status = tfm_model_save(model, argv[1], &error);
    if (!status) status = recite(model, &right, &error);
    if (status) fprintf(stderr, "hello: %s\n", error.message);
    tfm_model_free(model);
    return status || right != PHRASES;
}
