/* What the tests of transformer.hpp share: a phrase book, models of it, and what a call throws. */
#ifndef TFM_TEST_CPP_MODELS_HPP
#define TFM_TEST_CPP_MODELS_HPP

#include <transformer.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <check.h> /* last: its macro "fail" breaks headers of C++ */

using strings = std::vector<std::string>;
using ids = std::vector<std::int32_t>;
namespace fs = std::filesystem;

inline const strings english = {"good morning", "good evening", "thank you",
                                "please",       "how are you?", "where are you?"};
inline const strings german = {"guten Morgen", "guten Abend", "danke", "bitte", "wie geht es dir?", "wo bist du?"};

struct stop : std::runtime_error {
    stop() : std::runtime_error("thrown by a callback") {}
};

/* What f throws, which must be an Error. */
template <class Error, class F> Error thrown_by(F &&f)
{
    try {
        f();
    } catch (const Error &e) {
        return e;
    }
    ck_abort_msg("nothing was thrown");
}

template <class F> void require_status(tfm_status wanted, const char *part, F &&f)
{
    const tfm::error e = thrown_by<tfm::error>(f);
    ck_assert_msg(e.status() == wanted && std::strstr(e.what(), part), "%d, %s", e.status(), e.what());
}

inline std::string folder, path;

inline void folder_make()
{
    const char *parent = std::getenv("TMPDIR");
    folder = std::string(parent && *parent ? parent : "/tmp") + "/tfm-test-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder.data()));
    path = folder + "/file";
}

inline void folder_remove()
{
    fs::remove_all(folder);
}

inline tfm::tokenizer small_tokenizer(std::uint32_t kind = TFM_TOKENIZER_BPE)
{
    strings both = english;
    both.insert(both.end(), german.begin(), german.end());
    tfm::tokenizer_options o;
    o.kind = kind;
    o.vocab_size = 290;
    o.merges = 20;
    return tfm::tokenizer::learn(both, o);
}

inline tfm::model small_model(std::uint64_t seed = 1)
{
    const tfm::tokenizer t = small_tokenizer();
    tfm::model_options o;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 64;
    o.n_heads = 4;
    o.vocab_size = t.vocab_size();
    o.seed = seed;
    return tfm::model(o, t);
}

inline tfm::trainer_options quick_training(std::uint64_t steps)
{
    tfm::trainer_options o;
    o.n_threads = 1;
    o.dropout = 0;
    o.warmup = 40;
    o.lr_scale = 0.3f;
    o.max_steps = steps;
    return o;
}

inline tfm::model trained_model(std::uint64_t steps)
{
    tfm::trainer t(small_model(), quick_training(steps));
    t.set_data(english, german);
    t.run();
    return t.model();
}

inline bool same_weights(const tfm::model &a, const tfm::model &b)
{
    bool same = a.parameter_count() == b.parameter_count();
    for (std::size_t i = 0; same && i < a.parameter_count(); i++) {
        const tfm::span<const float> x = tfm::values(a.parameter(i)), y = tfm::values(b.parameter(i));
        same = x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof *x.data()) == 0;
    }
    return same;
}

/* ---------------------------------------------------------------------------------------------------- suite ---- */

inline int run_tests(const char *name, std::initializer_list<const TTest *> tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, folder_make, folder_remove);
    tcase_set_timeout(tcase, 600);
    for (const TTest *test : tests) tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
