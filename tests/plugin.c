/* What check_copies.sh compiles twice: a plugin with a copy of the library in it, and a host that uses the shared one
 * and loads the plugin. */
#include <transformer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct visit {
    const char *(*version)(void);
    double score;
    tfm_status refused; /* what a wrong option gave */
} visit;

/* A model and a translation, all of this copy. */
static int use(visit *v)
{
    const int32_t source[] = {4, 5, 6, TFM_EOS};
    const tfm_ids ids = {source, 4};
    tfm_model_options o;
    tfm_decoder *decoder = NULL;
    tfm_model *model = NULL;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 16;
    o.vocab_size = 20;
    v->version = tfm_version;
    v->refused = tfm_model_options_set(&o, "no such field", "1", NULL);
    tfm_decoder_options d;
    tfm_decoder_options_init(&d, sizeof d);
    const int bad = tfm_model_create(&model, &o, NULL, NULL) || tfm_decoder_create(&decoder, model, &d, NULL) ||
                    tfm_decoder_translate_ids(decoder, &ids, 1, NULL);
    if (!bad) v->score = tfm_decoder_score(decoder, 0, 0);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
    return bad;
}

#ifdef PLUGIN

int plugin_visit(visit *v);

int plugin_visit(visit *v)
{
    return use(v);
}

#else

typedef int visit_fn(visit *);

int main(int argc, char **argv)
{
    visit own = {0}, other = {0}, again = {0};
    visit_fn *plugin_visit = NULL;
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *found = plugin ? dlsym(plugin, "plugin_visit") : NULL;

    memcpy(&plugin_visit, &found, sizeof found);
    if (!plugin_visit) return printf("%s\n", plugin ? "no plugin_visit" : dlerror());
    if (use(&own) || plugin_visit(&other) || use(&again)) return printf("a copy fails\n");
    if (own.version == other.version) return printf("the plugin uses the host's copy\n");
    if (own.score != other.score || own.score != again.score || own.refused != other.refused)
        return printf("the copies differ: %g, %g, %g\n", own.score, other.score, again.score);
    return 0;
}

#endif
