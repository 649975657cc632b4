/* transformer.hpp: training, translation, scoring, attention, metrics; lambdas that stop, throw, and move along. */
#include <cmath>
#include <numeric>

#include "cpp_models.hpp"

namespace
{

bool near(double a, double b, double bound)
{
    return std::fabs(a - b) <= bound;
}

/* ------------------------------------------------------------------------------------------------ training ---- */

START_TEST(training_to_translation)
{
    const tfm::model m = trained_model(200);
    tfm::decoder d(m);

    d.translate(english);
    for (std::size_t i = 0; i < german.size(); i++) {
        ck_assert_msg(d.text(i) == german[i], "%s -> %s", english[i].c_str(), std::string(d.text(i)).c_str());
        ck_assert(m.tokenizer().decode(d.ids(i)) == german[i]);
        ck_assert_int_eq(d.ids(i)[d.ids(i).size() - 1], TFM_EOS);
        ck_assert_uint_ge(d.steps(i), d.ids(i).size());
        ck_assert(d.finished(i) == (d.ids(i).size() == 0 || d.ids(i).data()[d.ids(i).size() - 1] == TFM_EOS));
        ck_assert_uint_eq(d.parts(i), 1);
        ck_assert_uint_eq(d.count(i), 1);
        ck_assert(d.score(i) < 0 && d.score(i) > -1);
    }
    ck_assert(d.text(99).empty() && d.count(99) == 0);
}
END_TEST

START_TEST(models_decode_together)
{
    std::vector<tfm::model> models;
    tfm::decoder_options o;
    models.push_back(trained_model(200));
    models.push_back(trained_model(30));
    std::size_t calls = 0;
    o.progress = [&](std::size_t, std::size_t) { return calls++, false; };
    tfm::decoder both = tfm::decoder::ensemble(models, {3, 1}, o), first(models[0]), second(models[1]);

    both.translate(english);
    ck_assert(both.text(0) == german[0] && calls > 0);
    for (tfm::decoder *d : {&both, &first, &second}) d->logprobs(english, german);
    for (std::size_t i = 0; i < german.size(); i++) {
        const auto p = both.token_logprobs(i), p1 = first.token_logprobs(i), p2 = second.token_logprobs(i);
        for (std::size_t j = 0; j < p.size(); j++)
            ck_assert(near(std::exp(p[j]), 0.75 * std::exp(p1[j]) + 0.25 * std::exp(p2[j]), 1e-5));
    }
    const std::vector<std::reference_wrapper<const tfm::model>> twice = {models[0], models[0]};
    tfm::decoder equal = tfm::decoder::ensemble(twice);
    equal.translate(english);
    for (std::size_t i = 0; i < german.size(); i++) ck_assert(equal.text(i) == german[i]);
    require_status(TFM_E_INVALID, "2 models, but 1 weights", [&] { tfm::decoder::ensemble(models, {1}); });
    require_status(TFM_E_INVALID, "all 2 weights are 0", [&] { tfm::decoder::ensemble(models, {0, 0}); });
}
END_TEST

START_TEST(sentences_are_told_of)
{
    const tfm::model m = trained_model(200);
    tfm::decoder d(m);
    std::vector<std::string> begun(english.size()), done(english.size());
    std::size_t calls = 0;

    d.stream(
        english, [&](std::size_t i) { return done[i] = d.text(i), false; },
        [&](std::size_t i, std::string_view text, tfm::ids_view ids) {
            ck_assert(text.substr(0, begun[i].size()) == begun[i] && ids.size() > 0);
            begun[i] = text;
            return calls++, false;
        });
    ck_assert(done == german && begun == german && calls > 2 * english.size());
    calls = 0;
    require_status(TFM_E_CANCELLED, "cancelled at sentence",
                   [&] { d.stream(english, [&](std::size_t) { return ++calls == 2; }); });
    ck_assert_uint_eq(calls, 2);
    ck_assert(d.count(0) == 0);
    try {
        d.stream(english, nullptr, [](std::size_t, std::string_view, tfm::ids_view) -> bool { throw 7; });
        ck_abort_msg("nothing was thrown");
    } catch (int thrown) {
        ck_assert_int_eq(thrown, 7);
    }
    d.translate(english);
    ck_assert(d.text(0) == german[0]);
}
END_TEST

START_TEST(data_is_reported)
{
    tfm::trainer t(small_model(), quick_training(1));
    const tfm_data_report report = t.set_data({"please", "", "thank you"}, {"bitte", "leer", "danke"});

    ck_assert_uint_eq(report.pairs, 2);
    ck_assert_uint_eq(report.blank, 1);
    require_status(TFM_E_INVALID, "2 sources, but 1 targets", [&] { t.set_data({"a", "b"}, {"c"}); });
    require_status(TFM_E_INVALID, "", [&] { t.set_data({""}, {""}); });
    t.set_valid(english, german);
    require_status(TFM_E_INVALID, "6 sources, but 0 targets", [&] { t.set_valid(english, strings()); });
    const std::vector<ids> sources = {{10, 11, TFM_EOS}, {12, TFM_EOS}}, targets = {{20, TFM_EOS}, {21, 22, TFM_EOS}};
    ck_assert_uint_eq(t.set_data_ids(sources, targets).target_tokens, 5);
}
END_TEST

START_TEST(steps_are_those_of_a_run)
{
    tfm::trainer stepped(small_model(), quick_training(5)), run(small_model(), quick_training(5));

    stepped.set_data(english, german);
    run.set_data(english, german);
    for (std::uint64_t i = 1; i <= 5; i++) {
        const tfm_progress p = stepped.step();
        ck_assert_uint_eq(p.step, i);
        ck_assert(p.loss > 0);
    }
    run.run();
    ck_assert(same_weights(stepped.model(), run.model()));
    ck_assert(!same_weights(stepped.model(), small_model()));
}
END_TEST

START_TEST(a_checkpoint_goes_on)
{
    tfm::trainer first(small_model(), quick_training(10));
    first.set_data(english, german);
    for (int i = 0; i < 4; i++) first.step();
    first.save(path);
    first.run();
    tfm::trainer second = tfm::trainer::resume(path, quick_training(10));
    second.set_data(english, german);
    second.run();
    ck_assert(same_weights(first.model(), second.model()));
}
END_TEST

START_TEST(trainers_move_with_their_lambdas)
{
    std::vector<std::uint64_t> steps;
    tfm::trainer_options o = quick_training(3);
    o.progress = [&, copied = std::string("kept by the trainer, not by the options")](const tfm_progress &p) {
        if (p.event == TFM_EVENT_STEP) steps.push_back(p.step + copied.size() - copied.size());
        return false;
    };
    tfm::trainer a(small_model(), o);
    o.progress = nullptr;
    a.set_data(english, german);
    tfm::trainer b = std::move(a);
    ck_assert(a.get() == nullptr && b.get() != nullptr);
    require_status(TFM_E_INVALID, "moved", [&] { a.run(); });
    require_status(TFM_E_INVALID, "", [&] { a.model(); });
    ck_assert(a.profile().empty());
    tfm::trainer c(small_model(), quick_training(1));
    c = std::move(b);
    c.run();
    ck_assert(steps == (std::vector<std::uint64_t>{1, 2, 3}));
}
END_TEST

START_TEST(training_is_cancelled)
{
    tfm::trainer_options o = quick_training(100);
    o.progress = [](const tfm_progress &p) { return p.step == 3; };
    tfm::trainer t(small_model(), o);
    t.set_data(english, german);
    require_status(TFM_E_CANCELLED, "", [&] { t.run(); });
    ck_assert_uint_eq(t.step().step, 4); /* everything is valid */
}
END_TEST

START_TEST(what_progress_throws_comes_out_of_run)
{
    bool armed = true;
    tfm::trainer_options o = quick_training(5);
    o.progress = [&](const tfm_progress &p) {
        if (armed && p.step == 2) throw stop();
        return false;
    };
    tfm::trainer t(small_model(), o);
    t.set_data(english, german);
    thrown_by<stop>([&] { t.run(); });
    armed = false;
    t.run(); /* it was thrown once */
    ck_assert(same_weights(t.model(), [] {
        tfm::trainer whole(small_model(), quick_training(5));
        whole.set_data(english, german);
        whole.run();
        return whole.model();
    }()));
}
END_TEST

START_TEST(ranks_are_summed_by_a_lambda)
{
    std::size_t calls = 0;
    bool broken = false;
    tfm::trainer_options o = quick_training(3);
    o.n_ranks = 2;
    o.batch_tokens = 30;
    require_status(TFM_E_INVALID, "reduce", [&] { tfm::trainer t(small_model(), o); });
    o.reduce = [&](tfm::span<float> values) {
        if (broken) throw stop();
        calls += !values.empty();
        for (float &value : values) value *= 2; /* both ranks have the same */
    };
    tfm::trainer t(small_model(), o);
    t.set_data(english, german);
    t.step();
    ck_assert_uint_gt(calls, 0);
    broken = true;
    thrown_by<stop>([&] { t.step(); });
}
END_TEST

START_TEST(trainers_tell_their_log)
{
    std::string told;
    tfm::trainer first(small_model(), quick_training(10));
    first.set_data(english, german);
    first.step();
    first.save(path);
    tfm::trainer_options o = quick_training(10);
    o.memory = 1; /* less than the pieces of the checkpoint need: a warning */
    o.log = [&](std::int32_t, std::string_view message) { told = message; };
    tfm::trainer::resume(path, o).set_data(english, german);
    ck_assert(!told.empty());
    o.log = [](std::int32_t, std::string_view) { throw stop(); };
    tfm::trainer second = tfm::trainer::resume(path, o);
    thrown_by<stop>([&] { second.set_data(english, german); });
}
END_TEST

/* ------------------------------------------------------------------------------------------------ decoding ---- */

START_TEST(n_best_lists)
{
    const tfm::model m = trained_model(60);
    tfm::decoder_options o;
    o.n_best = 3;
    tfm::decoder d(m, o);

    d.translate({"good morning"});
    ck_assert_uint_eq(d.count(0), 3);
    for (std::size_t rank = 1; rank < 3; rank++) {
        ck_assert(d.score(0, rank) <= d.score(0, rank - 1));
        ck_assert(d.text(0, rank) != d.text(0, 0));
    }
    const std::string best(d.text(0));
    std::vector<ids> sources = {m.tokenizer().encode("good morning")};
    sources[0].push_back(TFM_EOS);
    d.translate_ids(sources);
    ck_assert(m.tokenizer().decode(d.ids(0)) == best);
    require_status(TFM_E_FORMAT, "2", [&] { d.translate({"a", "\xFF"}); });
}
END_TEST

START_TEST(what_is_forbidden_does_not_come)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;

    o.forbidden = {m.tokenizer().encode("danke"), {TFM_UNK}};
    o.length_norm = TFM_LENGTH_MARIAN;
    tfm::decoder d(m, o);
    d.translate({"thank you", "please"});
    ck_assert(d.text(0) != "danke" && d.text(1) == "bitte");
    const tfm::span<const float> tokens = d.token_scores(1);
    ck_assert_uint_eq(tokens.size(), d.ids(1).size());
    ck_assert(
        near(std::accumulate(tokens.begin(), tokens.end(), 0.0) / std::pow(tokens.size(), o.alpha), d.score(1), 1e-5));
    o.forbidden = {{}};
    require_status(TFM_E_INVALID, "forbidden[0] is empty", [&] { tfm::decoder(m, o); });
}
END_TEST

START_TEST(placeholders_stay)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;

    o.beam = 16;
    tfm::decoder d(m, o);
    d.translate_with_placeholders({"thank {0} you", "please"}, {{"{0}"}, {}});
    ck_assert(d.text(0).find("{0}") != std::string_view::npos && d.text(1) == "bitte");
    require_status(TFM_E_INVALID, "is not in line 1", [&] { d.translate_with_placeholders({"please"}, {{"{0}"}}); });
}
END_TEST

START_TEST(words_are_aligned)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;

    ck_assert(!tfm::decoder(m).alignment(0).data);
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm::decoder d(m, o);
    d.translate({"thank you"});
    const tfm::matrix tokens = d.alignment(0, 0, TFM_ALIGNMENT_TOKENS);
    ck_assert_uint_eq(tokens.rows, d.ids(0).size());
    ck_assert(near(std::accumulate(tokens[0].begin(), tokens[0].end(), 0.0), 1.0, 1e-5));
    ck_assert(d.alignment(0).rows == 1 && d.alignment(0).cols == 2);
    const std::string links = tfm::alignment_links(d.alignment(0));
    ck_assert(links == "0-0" || links == "1-0");
    d.logprobs({"thank you"}, {"danke schon"});
    ck_assert(d.pair_alignment(0).rows == 2 && tfm::alignment_links(d.pair_alignment(0), 1.0F).empty());
    require_status(TFM_E_INVALID, "threshold", [&] { tfm::alignment_links(d.pair_alignment(0), 2.0F); });
}
END_TEST

START_TEST(translations_begin_with_their_prefix)
{
    const tfm::model m = trained_model(100);
    tfm::decoder d(m);

    d.translate({"thank you", "please"}, {"", "danke"});
    ck_assert(d.text(0) == "danke" && d.text(1).substr(0, 5) == "danke");
    const std::string by_text(d.text(1));
    ids source = m.tokenizer().encode("please");
    source.push_back(TFM_EOS);
    d.translate_ids({source}, {m.tokenizer().encode("danke")});
    ck_assert(d.text(0) == by_text);
    require_status(TFM_E_INVALID, "2 sources, but 1 prefixes", [&] { d.translate({"a", "b"}, {"c"}); });
}
END_TEST

START_TEST(terms_appear)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;

    o.beam = 12;
    tfm::decoder d(m, o);
    d.translate_with_terms({"thank you", "please"}, {{"bitte"}, {}});
    ck_assert(d.text(0).find("bitte") != std::string_view::npos && d.text(1) == "bitte");
    require_status(TFM_E_INVALID, "1 sources, but 0 terms", [&] { d.translate_with_terms({"a"}, {}); });
}
END_TEST

START_TEST(controls_go_together)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;
    tfm::controls c;

    o.beam = 20;
    tfm::decoder d(m, o);
    d.translate_with({"please"}, {});
    ck_assert(d.text(0) == "bitte");
    c.prefixes = {"danke", ""};
    c.terms = {{"schon"}, {"bitte", "danke"}};
    c.term_times = {{2}, {2, 0}};
    c.placeholders = {{"{0}"}, {}};
    d.translate_with({"thank {0} you", "please"}, c);
    const std::string first(d.text(0)), second(d.text(1));
    const auto count = [](const std::string &text, const std::string &what) {
        std::size_t n = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
        return n;
    };
    ck_assert(d.finished(0) && first.substr(0, 5) == "danke" && count(first, "schon") == 2 && count(first, "{0}") == 1);
    ck_assert(d.finished(1) && count(second, "bitte") == 2 && count(second, "danke") >= 1);
    for (const auto times : {&tfm::controls::term_times, &tfm::controls::placeholder_times}) {
        tfm::controls alone;
        alone.*times = {{1}};
        require_status(TFM_E_INVALID, "_times needs a number for each", [&] { d.translate_with({"please"}, alone); });
    }
    c.placeholder_times = {{2}, {}};
    require_status(TFM_E_INVALID, "placeholder_times 2", [&] { d.translate_with({"thank {0} you", "please"}, c); });
    c.placeholder_times = {{2, 1}, {}};
    require_status(TFM_E_INVALID, "placeholder_times needs a number for each",
                   [&] { d.translate_with({"thank {0} you", "please"}, c); });
    c.prefixes = {""};
    require_status(TFM_E_INVALID, "2 sources, but 1 prefixes", [&] {
        d.translate_with({"thank {0} you", "please"}, c);
    });
}
END_TEST

START_TEST(samples_are_repeatable)
{
    const tfm::model m = trained_model(100);
    tfm::decoder_options o;

    o.temperature = 3;
    o.n_best = 6;
    o.seed = 7;
    tfm::decoder a(m, o), b(m, o);
    a.translate({"thank you"});
    b.translate({"please", "thank you"});
    ck_assert_uint_eq(a.count(0), 6);
    for (std::size_t i = 0; i < 6; i++) ck_assert(a.text(0, i) == b.text(1, i));
    ck_assert(a.text(0, 0) != a.text(0, 5));
}
END_TEST

START_TEST(pairs_are_scored)
{
    const tfm::model m = trained_model(100);
    tfm::decoder d(m);

    d.logprobs({"thank you", "thank you"}, {"danke", "bitte"});
    const tfm::span<const float> tokens = d.token_logprobs(0);
    ck_assert_uint_eq(tokens.size(), m.tokenizer().encode("danke").size() + 1);
    ck_assert(near(std::accumulate(tokens.begin(), tokens.end(), 0.0), d.pair_logprob(0), 1e-5));
    ck_assert(d.pair_logprob(0) > d.pair_logprob(1));
    ck_assert(d.token_logprobs(2).empty() && std::isnan(d.pair_logprob(2)));
    const double by_text = d.pair_logprob(0);
    ids source = m.tokenizer().encode("thank you"), target = m.tokenizer().encode("danke");
    source.push_back(TFM_EOS);
    target.push_back(TFM_EOS);
    d.logprobs_ids({source}, {target});
    ck_assert(d.pair_logprob(0) == by_text);
    require_status(TFM_E_INVALID, "1 sources, but 2 targets", [&] { d.logprobs({"a"}, {"b", "c"}); });
}
END_TEST

START_TEST(attention_of_a_pair)
{
    const tfm::model m = small_model();
    tfm::decoder d(m);
    const ids source = {10, 11, 12, TFM_EOS}, target = {20, 21, TFM_EOS};
    const tfm::matrix cross = d.attention(source, target, TFM_ATTENTION_CROSS, 0, 3);

    ck_assert(cross.rows == 3 && cross.cols == 4);
    for (std::size_t r = 0; r < cross.rows; r++)
        ck_assert(near(std::accumulate(cross[r].begin(), cross[r].end(), 0.0), 1, 1e-6));
    const tfm::matrix self = d.attention(source, target, TFM_ATTENTION_DECODER, 0, 0);
    ck_assert(self[0][0] == 1.0f && self[0][1] == 0.0f && self[1][0] > 0.0f);
    ck_assert(d.attention(source, {}, TFM_ATTENTION_ENCODER, 0, 0).cols == 4);
    require_status(TFM_E_INVALID, "4", [&] { d.attention(source, target, TFM_ATTENTION_CROSS, 0, 4); });

    const tfm::matrix last = d.attention(source, target, TFM_ATTENTION_CROSS, 0, 3);
    const std::vector<float> wanted(last.data, last.data + last.rows * last.cols);
    const tfm::attention_weights every = d.attention(source, target, TFM_ATTENTION_CROSS);
    const tfm::matrix again = every(0, 3);
    ck_assert(every.shape[1] == 4 && again.rows == 3 && again.cols == 4);
    ck_assert(std::equal(wanted.begin(), wanted.end(), again.data));
    require_status(TFM_E_INVALID, "empty", [&] { d.attention(source, {}, TFM_ATTENTION_CROSS); });
}
END_TEST

START_TEST(translation_is_watched_and_cancelled)
{
    const tfm::model m = small_model();
    std::size_t calls = 0, total_seen = 0;
    enum { WATCH, CANCEL, THROW } what = WATCH;
    tfm::decoder_options o;
    o.progress = [&](std::size_t, std::size_t total) {
        calls++;
        total_seen = total;
        if (what == THROW) throw stop();
        return what == CANCEL;
    };
    tfm::decoder first(m, o), d = std::move(first);

    d.translate(english);
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_eq(total_seen, english.size());
    const std::string answer(d.text(0));
    what = CANCEL;
    require_status(TFM_E_CANCELLED, "", [&] { d.translate(english); });
    what = THROW;
    thrown_by<stop>([&] { d.translate(english); });
    what = WATCH;
    d.translate(english);
    ck_assert(d.text(0) == answer);
    require_status(TFM_E_INVALID, "moved", [&] { first.translate(english); });
    const auto go_on = [](std::size_t) { return false; };
    require_status(TFM_E_INVALID, "moved", [&] { first.stream(english, go_on); });
    tfm_request r{};
    r.partial = [](void *, const tfm_partial *) -> std::int32_t { return 0; };
    require_status(TFM_E_INVALID, "functions of its own", [&] { d.run(r, go_on); });
    require_status(TFM_E_INVALID, "", [&] { first.attention({}, {}, TFM_ATTENTION_CROSS, 0, 0); });
    ck_assert(first.count(0) == 0 && first.text(0).empty() && first.get() == nullptr);
}
END_TEST

START_TEST(time_is_accounted_for)
{
    const auto calls = [](const std::vector<tfm_profile_entry> &profile) {
        return std::accumulate(profile.begin(), profile.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const tfm_profile_entry &e) { return sum + e.calls; });
    };
    const tfm::model m = small_model();
    tfm::decoder d(m);
    tfm::trainer t(m, quick_training(1));

    ck_assert(!d.profile().empty() && calls(d.profile()) == 0);
    d.translate(english);
    ck_assert_uint_gt(calls(d.profile()), 0);
    t.set_data(english, german);
    t.run();
    ck_assert_uint_gt(calls(t.profile()), 0);
}
END_TEST

/* ------------------------------------------------------------------------------------- mathematics, metrics ---- */

START_TEST(attention_on_buffers)
{
    const std::vector<float> identity = {1, 0, 0, 1}, v = {2, 0, 0, 4};
    std::vector<float> out(4), weights(4);
    tfm::attention_options causal;
    causal.causal = 1;

    tfm::attention(out, weights, identity, identity, v, 2, 2, 2, 2);
    ck_assert(near(static_cast<double>(weights[0]), 0.669761549, 2e-7));
    ck_assert(near(static_cast<double>(out[3]), 2.679046197, 5e-7));
    tfm::attention(out, {}, identity, identity, v, 2, 2, 2, 2, causal);
    ck_assert(out[0] == 2.0f && out[1] == 0.0f);
    float untouched = 7.0f;
    tfm::attention(out, {&untouched, 0}, identity, identity, v, 2, 2, 2, 2); /* as of a cleared vector */
    ck_assert(untouched == 7.0f);
    require_status(TFM_E_INVALID, "v has 4 numbers, not 2 * 3", [&] {
        std::vector<float> wide(6);
        tfm::attention(wide, {}, identity, identity, v, 2, 2, 2, 3);
    });
    require_status(TFM_E_INVALID, "weights has 3", [&] {
        std::vector<float> three(3);
        tfm::attention(out, three, identity, identity, v, 2, 2, 2, 2);
    });
    /* 2^63 + 2 rows of 2 are 4 numbers modulo 2^64. */
    const std::size_t many = (SIZE_MAX >> 1) + 3;
    require_status(TFM_E_INVALID, "out", [&] { tfm::attention(out, {}, identity, identity, v, many, 2, 2, 2); });
}
END_TEST

START_TEST(other_metrics_and_significance)
{
    const tfm::texts refs = {"the cat sat on the mat", "hello there"}, hyps = {"the cat sat on a mat", "hello"};
    tfm::chrf_options words;
    words.word_order = 2;
    ck_assert(near(tfm::chrf(refs, {refs}).score, 100, 1e-9));
    ck_assert(!near(tfm::chrf(hyps, {refs}, words).score, tfm::chrf(hyps, {refs}).score, 1));
    ck_assert(near(tfm::ter(hyps, {refs}).score, 25, 1e-9));
    ck_assert(near(tfm::ter(hyps, {refs, hyps}).score, 0, 1e-9));
    require_status(TFM_E_INVALID, "2 hypotheses, but 1 references", [&] { tfm::chrf(hyps, {{"one"}}); });
    const tfm_comparison c = tfm::compare(hyps, refs, {refs}, tfm::ter_options(), 50, 7);
    ck_assert(near(c.score[0], 25, 1e-9) && near(c.score[1], 0, 1e-9));
    ck_assert(near(tfm::compare(hyps, refs, {refs}).score[1], 100, 1e-9));
    ck_assert(near(tfm::compare(hyps, refs, {refs}, words, 10).score[1], 100, 1e-9));
    require_status(TFM_E_INVALID, "n_samples is 1", [&] { tfm::compare(hyps, refs, {refs}, tfm::bleu_options(), 1); });
    require_status(TFM_E_INVALID, "1 translations of the baseline", [&] { tfm::compare({"a"}, refs, {refs}); });
}
END_TEST

START_TEST(scores_of_parses)
{
    const tfm::texts gold = {"(S (A (x a) (x b)) (x c))", "(S (x a))"}, parses = {"(S (x a) (A (x b) (x c)))", ""};
    const tfm::parseval_scores scores = tfm::parseval(parses, gold);
    ck_assert(near(scores.all.f1[0], 50, 1e-9) && scores.all.skipped[0] == 1);
    ck_assert(scores.rows.size() == 2 && scores.rows[0].crossing == 1 &&
              scores.rows[1].status == TFM_PARSEVAL_NO_WORDS);
    tfm::parseval_options rules;
    rules.parameters = "EQ_LABEL";
    require_status(TFM_E_FORMAT, "two values are wanted", [&] { tfm::parseval(parses, gold, rules); });
    require_status(TFM_E_INVALID, "1 parses, but 2 gold trees", [&] { tfm::parseval({"x"}, gold); });
}
END_TEST

START_TEST(bleu_of_several_references)
{
    const strings hyps = {"the cat sat on the mat", "there is a dog here"};
    const strings refs = {"the cat sat on the mat today", "there was a dog here"};
    tfm::bleu_options o;
    o.tokenize = TFM_BLEU_TOKENIZE_NONE;

    const tfm_bleu_result one = tfm::bleu(hyps, {refs}, o);
    ck_assert(near(one.score, 67.747020, 1e-6));
    ck_assert(near(tfm::bleu(hyps, {refs, hyps}).score, 100, 1e-9));
    require_status(TFM_E_INVALID, "2 hypotheses, but 1 references", [&] { tfm::bleu(hyps, {{"one"}}); });
    require_status(TFM_E_INVALID, "", [&] { tfm::bleu(hyps, {}); });
}
END_TEST

START_TEST(measuring)
{
    tfm::measure_options o;
    o.seconds = 0;
    const std::size_t kernels = tfm::measure_kernel_count(), twins = tfm::measure_twin_count();

    ck_assert(kernels > 0 && twins > 0);
    ck_assert_str_eq(tfm::measure_kernel(0, 0, o).twin, "ref");
    ck_assert(tfm::measure_product(7, 19, 30, o).flops == 2.0 * 7 * 19 * 30);
    require_status(TFM_E_INVALID, "", [&] { tfm::measure_kernel(kernels, 0, o); });
    require_status(TFM_E_INVALID, "", [&] { tfm::measure_product(0, 1, 1, o); });
}
END_TEST

START_TEST(versions_agree)
{
    const std::string header = std::to_string(TFM_VERSION_MAJOR) + "." + std::to_string(TFM_VERSION_MINOR) + "." +
                               std::to_string(TFM_VERSION_PATCH);
    ck_assert_str_eq(tfm::version(), header.c_str());
}
END_TEST

} // namespace

int main()
{
    return run_tests("cpp_runs", {training_to_translation,
                                  models_decode_together,
                                  data_is_reported,
                                  steps_are_those_of_a_run,
                                  a_checkpoint_goes_on,
                                  trainers_move_with_their_lambdas,
                                  training_is_cancelled,
                                  sentences_are_told_of,
                                  what_progress_throws_comes_out_of_run,
                                  controls_go_together,
                                  ranks_are_summed_by_a_lambda,
                                  trainers_tell_their_log,
                                  n_best_lists,
                                  pairs_are_scored,
                                  placeholders_stay,
                                  samples_are_repeatable,
                                  terms_appear,
                                  translations_begin_with_their_prefix,
                                  what_is_forbidden_does_not_come,
                                  words_are_aligned,
                                  attention_of_a_pair,
                                  translation_is_watched_and_cancelled,
                                  time_is_accounted_for,
                                  attention_on_buffers,
                                  bleu_of_several_references,
                                  other_metrics_and_significance,
                                  scores_of_parses,
                                  measuring,
                                  versions_agree});
}
