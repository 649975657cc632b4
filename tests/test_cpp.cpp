/* transformer.hpp: options, errors, tokenizers and models, and that nothing is copied, lost or freed twice. */
#include <array>
#include <fstream>

#include "cpp_models.hpp"

namespace
{

/* ------------------------------------------------------------------------------------- what the compiler knows ---- */

template <class T>
constexpr bool moves_only =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> && std::is_nothrow_move_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T> && std::is_nothrow_destructible_v<T>;
static_assert(moves_only<tfm::tokenizer> && moves_only<tfm::model> && moves_only<tfm::decoder> &&
              moves_only<tfm::trainer>);
static_assert(!std::is_constructible_v<tfm::decoder, tfm::model>, "a decoder of a temporary model would dangle");
static_assert(std::is_constructible_v<tfm::decoder, const tfm::model &>);
static_assert(std::is_convertible_v<std::vector<float> &, tfm::span<const float>>);
static_assert(std::is_convertible_v<std::array<std::int32_t, 3>, tfm::ids_view>);
static_assert(!std::is_convertible_v<const std::vector<float> &, tfm::span<float>>);
static_assert(!std::is_convertible_v<std::vector<double> &, tfm::span<const float>>);
static_assert(std::is_convertible_v<const strings &, tfm::texts>);
static_assert(!std::is_convertible_v<const std::string &, tfm::texts>, "one line is not a list of lines");

/* -------------------------------------------------------------------------------------------------- options ---- */

START_TEST(options_are_born_with_the_defaults)
{
    ck_assert_uint_eq(tfm::tokenizer_options().vocab_size, 8000);
    ck_assert_uint_eq(tfm::model_options().d_model, 512);
    ck_assert_uint_eq(tfm::load_options().skip_checksum, 0);
    ck_assert_uint_eq(tfm::decoder_options().beam, 4);
    ck_assert_uint_eq(tfm::trainer_options().warmup, 4000);
    ck_assert(tfm::attention_options().key_length == SIZE_MAX);
    ck_assert_uint_eq(tfm::bleu_options().max_order, 4);
    ck_assert(tfm::measure_options().seconds > 0);
    /* What a derived structure adds is not the library's. */
    ck_assert_uint_eq(tfm::tokenizer_options().struct_size, sizeof(tfm_tokenizer_options));
    ck_assert_uint_eq(tfm::decoder_options().struct_size, sizeof(tfm_decoder_options));
    ck_assert_uint_eq(tfm::trainer_options().struct_size, sizeof(tfm_trainer_options));
}
END_TEST

START_TEST(model_options_by_name)
{
    tfm::model_options o("big");
    ck_assert_uint_eq(o.d_model, 1024);
    o.set("attention_bias", "1");
    ck_assert_uint_eq(o.attention_bias, 1);
    o.set("attention_bias", "0");
    o.preset("base");
    o.vocab_size = 37000;
    ck_assert_uint_eq(o.costs(28, 28).parameters, 63045632); /* Table 3, base */
    require_status(TFM_E_INVALID, "huge", [] { tfm::model_options("huge"); });
    require_status(TFM_E_INVALID, "d_modell", [&] { o.set("d_modell", "1"); });
}
END_TEST

START_TEST(errors_carry_message_and_status)
{
    const std::string absent = folder + "/absent";
    require_status(TFM_E_IO, "absent", [&] { tfm::model::load(absent); });
    require_status(TFM_E_IO, "absent", [&] { tfm::tokenizer::load(absent); });
    require_status(TFM_E_IO, "absent", [&] { tfm::trainer::resume(absent); });
    require_status(TFM_E_INVALID, "", [] { tfm::model{tfm::model_options()}; });
    const std::string cut = absent + '\0' + "behind it";
    require_status(TFM_E_INVALID, "absent'", [&] { tfm::model::load(cut); });
    require_status(TFM_E_INVALID, "NUL", [&] { small_model().save(cut); });
    require_status(TFM_E_INVALID, "NUL", [&] { tfm::model_options().set("seed", std::string("1\0002", 3)); });
    ck_assert(!fs::exists(absent));
    ck_assert_str_eq(tfm::status_name(TFM_E_IO),
                     tfm::status_name(thrown_by<tfm::error>([&] { tfm::model::load(absent); }).status()));
    const std::runtime_error base = thrown_by<std::runtime_error>([&] { tfm::model::load(absent); });
    ck_assert_ptr_nonnull(std::strstr(base.what(), "absent"));
}
END_TEST

/* ------------------------------------------------------------------------------------------------ tokenizer ---- */

START_TEST(tokenizers_there_and_back)
{
    const tfm::tokenizer t = small_tokenizer();
    const std::string line = "good \xF0\x9F\x98\x80 Morgen";
    const ids tokens = t.encode(line);

    ck_assert_uint_eq(t.kind(), TFM_TOKENIZER_BPE);
    ck_assert(t.decode(tokens) == line);
    ck_assert(t.decode(t.encode("")).empty());
    std::string pieces;
    for (const std::int32_t id : t.encode("please")) pieces.append(pieces.empty() ? "" : " ").append(t.token(id));
    ck_assert(t.segment("please") == pieces);
    ck_assert(t.encode_dropout("please", 0.0f, 1, 1) == t.encode("please"));
    ck_assert(t.encode_dropout("please", 1.0f, 1, 1).size() == 7 &&
              t.decode(t.encode_dropout("please", 0.5f, 1, 1)) == "please");
    ck_assert(t.segment_dropout("please", 1.0f, 1, 1) == "\u2581 p l e a s e");
    tfm::pretokenize_options words;
    words.language = TFM_LANGUAGE_FRENCH;
    ck_assert(tfm::pretokenize("l'eau.", words) == "l&apos; eau ." &&
              tfm::detokenize("l&apos; eau .", words) == "l'eau.");
    ck_assert(tfm::pretokenize("\"\"\"") == "&quot; &quot; &quot;");
    ck_assert(t.special().pad == TFM_PAD && t.special().unk == TFM_UNK && t.normalize(" a ") == " a ");
    require_status(TFM_E_UNSUPPORTED, "unigram", [&] { t.nbest("please", 2); });
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(t.vocab_size()); id++)
        ck_assert_int_eq(t.id(t.token(id)), id);
    ck_assert(t.token(-1).empty());
    ck_assert_int_eq(t.id("no such token"), TFM_UNK);
    /* Longer than any first guess of the size. */
    const std::string crowd(5000, '\n'), long_token = "good morninggood morning";
    ck_assert(t.decode(t.encode(crowd)) == crowd);
    ck_assert(t.decode(ids(3000, t.encode(long_token).front())).size() > 3000);
    require_status(TFM_E_FORMAT, "", [&] { t.encode("\xFF"); });
}
END_TEST

START_TEST(tokenizers_learn_from_any_container)
{
    tfm::tokenizer_options o;
    o.vocab_size = 270;
    const char *const pointers[] = {"the cat sat", "the cat ran"};
    const std::array<std::string_view, 2> views = {"the cat sat", "the cat ran"};
    const tfm::tokenizer a = tfm::tokenizer::learn({"the cat sat", "the cat ran"}, o);

    ck_assert_uint_eq(tfm::tokenizer::learn(pointers, o).vocab_size(), a.vocab_size());
    ck_assert_uint_eq(tfm::tokenizer::learn(views, o).vocab_size(), a.vocab_size());
    require_status(TFM_E_INVALID, "", [&] { tfm::tokenizer::learn(strings(), o); });
    require_status(TFM_E_FORMAT, "2", [&] { tfm::tokenizer::learn({"a", "\xC3"}, o); });
}
END_TEST

START_TEST(tokenizers_on_disk)
{
    const std::string codes = folder + "/codes";
    const tfm::tokenizer t = small_tokenizer(TFM_TOKENIZER_SUBWORD_NMT);

    t.save(path);
    t.export_codes(codes);
    const tfm::tokenizer loaded = tfm::tokenizer::load(path), imported = tfm::tokenizer::import_codes(codes, english);
    ck_assert_uint_eq(loaded.kind(), TFM_TOKENIZER_SUBWORD_NMT);
    ck_assert(loaded.segment("good morning Abend") == t.segment("good morning Abend"));
    ck_assert(imported.segment("good evening") == t.segment("good evening"));
    const tfm::tokenizer pair = tfm::tokenizer::pair(t, small_tokenizer());
    ck_assert(pair.encode("please") == t.encode("please") && pair.target().get() != pair.get());
    ck_assert(pair.decode(pair.target().encode("please")) == "please" && t.target().get() == t.get());
    require_status(TFM_E_INVALID, "this tokenizer is subword-nmt", [&] { tfm::tokenizer::renumbered(t, codes); });
    const tfm::tokenizer kept = tfm::tokenizer::restricted(t, "", 0, {"evening"});
    ck_assert(kept.segment("good evening").find("evening") != std::string::npos);
    ck_assert(kept.segment("xevening").find("evening") != std::string::npos);
    require_status(TFM_E_IO, "", [&] { tfm::tokenizer::restricted(t, folder + "/none", 2); });
    require_status(TFM_E_INVALID, "", [&] { small_tokenizer().export_codes(codes); });
    require_status(TFM_E_INVALID, "this tokenizer is subword-nmt", [&] { tfm::tokenizer::keeping_case(t); });
}
END_TEST

START_TEST(ways_to_cut_a_line)
{
    /* A unigram model of SentencePiece, whose fields are a tag, a size and a body; a score is -2 in little-endian. */
    const auto field = [](char tag, const std::string &body) {
        return std::string{tag, static_cast<char>(body.size())} + body;
    };
    const auto piece = [&](const char *name, char type) {
        return field('\n', field('\n', name) + std::string("\x15\0\0\0\xC0\x18", 6) + type);
    };
    std::ofstream(path) << piece("<unk>", 2) << piece("\u2581a", 1) << piece("b", 1) << piece("\u2581ab", 1);
    const tfm::tokenizer t = tfm::tokenizer::load(path);
    using ways = std::vector<std::pair<ids, float>>;

    ck_assert(t.nbest("ab", 2) == (ways{{{3}, -2.0f}, {{1, 2}, -4.0f}}));
    ck_assert(t.nbest("ab", SIZE_MAX).size() > 2);
    for (const char *blank : {"", " "}) ck_assert(t.nbest(blank, 3) == (ways{{{}, 0.0f}}));
    require_status(TFM_E_INVALID, "n is 0", [&] { t.nbest("ab", 0); });
}
END_TEST

START_TEST(tokenizers_tell_their_log)
{
    tfm::tokenizer_options o;
    std::string told;
    o.log = [&](std::int32_t level, std::string_view message) {
        ck_assert_int_eq(level, TFM_LOG_WARNING);
        told = message;
    };
    tfm::tokenizer::learn({"a b"}, o); /* does not support 8000 entries */
    ck_assert(told.find("8000") != std::string::npos);
    o.log = [](std::int32_t, std::string_view) { throw stop(); };
    thrown_by<stop>([&] { tfm::tokenizer::learn({"a b"}, o); });
}
END_TEST

START_TEST(tokenizers_move)
{
    tfm::tokenizer a = small_tokenizer();
    const tfm_tokenizer *object = a.get();
    tfm::tokenizer b = std::move(a);
    ck_assert(!a && a.get() == nullptr && b.get() == object); // NOLINT: what a moved-from handle is
    ck_assert_uint_eq(a.vocab_size(), 0);
    require_status(TFM_E_INVALID, "", [&] { a.encode("x"); });
    a = std::move(b);
    ck_assert(a.get() == object && !b);
    tfm::tokenizer &same = a;
    a = std::move(same);
    ck_assert(a.get() == object);
    a = small_tokenizer(); /* frees what it had */
    const tfm::tokenizer c(a.release());
    const tfm::tokenizer_view lent = c;
    ck_assert(!a && lent && lent.decode(c.encode("thank you")) == "thank you");
}
END_TEST

START_TEST(utf8)
{
    ck_assert(tfm::utf8_check("plain") == SIZE_MAX);
    ck_assert_uint_eq(tfm::utf8_check("ab\xFFz"), 2);
    ck_assert(tfm::utf8_repair("ab\xFFz") == "ab\xEF\xBF\xBDz");
    ck_assert(tfm::utf8_repair("").empty());
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- model ---- */

START_TEST(models_lend_their_parts)
{
    const tfm::model m = small_model();
    const tfm_parameter first = m.parameter(0);

    ck_assert_uint_eq(m.options().d_model, 64);
    ck_assert_uint_eq(m.options().d_k, 16);
    ck_assert_uint_eq(m.tokenizer().vocab_size(), m.options().vocab_size);
    ck_assert_uint_eq(m.dtype(), TFM_DTYPE_F32);
    ck_assert(m.parameter(first.name).data == first.data);
    ck_assert_uint_eq(tfm::values(first).size(), std::size_t{first.shape[0]} * first.shape[1]);
    require_status(TFM_E_INVALID, "no.such", [&] { m.parameter("no.such"); });
    require_status(TFM_E_INVALID, "", [&] { m.parameter(m.parameter_count()); });
    tfm::model_options o = m.options();
    ck_assert(!tfm::model(o).tokenizer());
}
END_TEST

START_TEST(models_of_given_weights)
{
    const tfm::model m = small_model();
    std::vector<tfm_parameter> parameters;
    for (std::size_t i = 0; i < m.parameter_count(); i++) parameters.push_back(m.parameter(i));
    const tfm::model copy(m.options(), m.tokenizer(), parameters);

    ck_assert(same_weights(m, copy));
    ck_assert(!same_weights(m, small_model(2)));
    parameters.pop_back();
    require_status(TFM_E_INVALID, "", [&] { tfm::model(m.options(), {}, parameters); });
}
END_TEST

START_TEST(models_on_disk)
{
    const tfm::model m = small_model();
    tfm::load_options quick;
    quick.skip_checksum = 1;

    m.save(path);
    ck_assert(same_weights(m, tfm::model::load(path)));
    ck_assert(same_weights(m, tfm::model::load(fs::path(path), quick)));
    require_status(TFM_E_UNSUPPORTED, "Marian cannot express", [&] { m.export_as(path, TFM_EXPORT_MARIAN); });
    m.save_as(path, TFM_DTYPE_INT8);
    const tfm::model narrow = tfm::model::load(path);
    ck_assert_uint_eq(narrow.dtype(), TFM_DTYPE_INT8);
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < narrow.parameter_count(); i++) {
        const tfm_parameter p = narrow.parameter(i);
        ck_assert_str_eq(p.name, m.parameter(i).name);
        ck_assert_uint_eq(p.shape[0], m.parameter(i).shape[0]);
        ck_assert(tfm::values(p).empty() == (p.data == nullptr));
        hidden += p.data == nullptr;
    }
    ck_assert_uint_gt(hidden, 0);
    require_status(TFM_E_UNSUPPORTED, "", [&] { narrow.save_as(path + "2", TFM_DTYPE_F32); });
}
END_TEST

START_TEST(models_average)
{
    std::vector<tfm::model> models;
    models.push_back(small_model(1));
    models.push_back(small_model(2));
    const tfm::model mean = tfm::model::average(models);
    const std::array<std::reference_wrapper<const tfm::model>, 2> twice = {models[0], models[0]};
    const std::size_t last = mean.parameter_count() - 1;
    const float a = tfm::values(models[0].parameter(last))[0], b = tfm::values(models[1].parameter(last))[0];

    ck_assert(tfm::values(mean.parameter(last))[0] == static_cast<float>((double{a} + double{b}) / 2));
    ck_assert(same_weights(models[0], tfm::model::average(twice)));
    require_status(TFM_E_INVALID, "", [] { tfm::model::average(std::vector<tfm::model>()); });
}
END_TEST

START_TEST(models_move)
{
    tfm::model a = small_model();
    tfm_model *object = a.get();
    tfm::model b = std::move(a);
    ck_assert(a.get() == nullptr && b.get() == object);
    require_status(TFM_E_INVALID, "", [&] { a.save(path); });
    require_status(TFM_E_INVALID, "", [&] { tfm::decoder d(a); });
    a = std::move(b);
    tfm::model c(a.release());
    ck_assert(c.get() == object && a.get() == nullptr);
}
END_TEST

} // namespace

int main()
{
    return run_tests("cpp", {options_are_born_with_the_defaults, model_options_by_name, errors_carry_message_and_status,
                             tokenizers_there_and_back, tokenizers_learn_from_any_container, tokenizers_on_disk,
                             ways_to_cut_a_line, tokenizers_tell_their_log, tokenizers_move, utf8,
                             models_lend_their_parts, models_of_given_weights, models_on_disk, models_average,
                             models_move});
}
