/* transformer.hpp without memory: the n-th allocation fails, of operator new or of the library's allocator, for every
 * n. What comes out is std::bad_alloc or TFM_E_NOMEM, nothing leaks, and handles that were there before go on as if
 * nothing had been. */
#include "cpp_models.hpp"

#include <new>

namespace
{

/* Both kinds of memory, counted together. */
struct {
    bool armed = false;
    std::size_t fail_at = 0, calls = 0, live = 0;

    bool refuse() noexcept { return armed && calls++ == fail_at; }
} memory;

void *resize(void *, void *block, std::size_t, std::size_t size)
{
    if (!size) {
        memory.live -= block != nullptr;
        std::free(block);
        return nullptr;
    }
    void *const moved = memory.refuse() ? nullptr : std::realloc(block, size);
    memory.live += moved && !block;
    return moved;
}

const tfm_allocator allocator = {resize, nullptr};

template <class Options> Options counted(Options o)
{
    o.allocator = &allocator;
    return o;
}

/* Tells a story again and again, each time one allocation further, until it ends well; kept: it leaves something in a
 * handle. */
template <class F> void starve(F &&story, bool kept = false)
{
    for (bool told = false; !told;) {
        const std::size_t live = memory.live;
        memory.calls = 0;
        memory.armed = true;
        try {
            story();
            told = true;
        } catch (const std::bad_alloc &) {
        } catch (const tfm::error &e) {
            memory.armed = false;
            ck_assert_msg(e.status() == TFM_E_NOMEM, "%zu: %d, %s", memory.fail_at, e.status(), e.what());
        }
        memory.armed = false;
        ck_assert_msg(kept || memory.live == live, "%zu: %zu blocks, then %zu", memory.fail_at, live, memory.live);
        ck_assert_msg(told == (memory.calls <= memory.fail_at), "%zu of %zu was missed", memory.fail_at, memory.calls);
        memory.fail_at = told ? 0 : memory.fail_at + 1;
    }
}

tfm::trainer_options counted_training(std::uint64_t steps)
{
    tfm::trainer_options o = counted(quick_training(steps));
    o.progress = [](const tfm_progress &p) { return strings(3, std::to_string(p.loss)).empty(); };
    return o;
}

/* ------------------------------------------------------------------------------------------------- stories ---- */

START_TEST(c34_tokenizers)
{
    starve([] {
        tfm::tokenizer_options o = counted(tfm::tokenizer_options());
        std::string warning;
        o.vocab_size = 5000; /* more than the text supports: that is logged */
        o.log = [&](std::int32_t, std::string_view message) { warning = message; };
        const tfm::tokenizer t = tfm::tokenizer::learn(english, o);
        ck_assert(warning.find("5000") != std::string::npos);
        t.save(path);
        const tfm::tokenizer again = tfm::tokenizer::load(path, &allocator);
        ck_assert(again.decode(again.encode(english[0])) == english[0]);
        ck_assert(!again.segment(english[1]).empty() && tfm::utf8_repair("a\xff").size() == 4);
    });
}
END_TEST

START_TEST(c34_models)
{
    const tfm::tokenizer t = small_tokenizer();

    starve([&] {
        tfm::model_options o = counted(tfm::model_options("tiny"));
        o.set("n_encoder_layers", "1");
        o.d_model = o.d_ff = 16;
        o.vocab_size = t.vocab_size();
        const tfm::model m(o, t);
        m.save(path);
        const tfm::model loaded = tfm::model::load(path, counted(tfm::load_options()));
        const std::vector<std::reference_wrapper<const tfm::model>> both = {m, m};
        ck_assert(same_weights(tfm::model::average(both), loaded));
        ck_assert_uint_eq(loaded.parameter("embedding.weight").shape[1], 16);
    });
}
END_TEST

START_TEST(c34_trainings)
{
    const tfm::model m = small_model();

    starve([&] {
        tfm::trainer t(m, counted_training(2));
        t.set_data(english, german);
        t.set_valid(english, german);
        t.run();
        t.save(path);
        tfm::trainer again = tfm::trainer::resume(path, counted_training(3));
        again.set_data(english, german);
        ck_assert_uint_eq(again.step().step, 3);
        ck_assert(!same_weights(again.model(), t.model()) && !again.profile().empty());
    });
}
END_TEST

START_TEST(c34_translations)
{
    const tfm::model m = small_model();

    starve([&] {
        tfm::decoder_options o = counted(tfm::decoder_options());
        o.max_length = 3;
        o.progress = [](std::size_t done, std::size_t) { return strings(2, std::to_string(done)).empty(); };
        tfm::decoder d(m, o);
        d.translate(english);
        d.logprobs(english, german);
        ck_assert(d.pair_logprob(0) < 0 && !d.profile().empty());
        const ids source = m.tokenizer().encode(english[0]);
        ck_assert_uint_eq(d.attention(source, source, TFM_ATTENTION_CROSS, 0, 0).rows, source.size());
        const std::vector<std::reference_wrapper<const tfm::model>> twice = {m, m};
        tfm::decoder::ensemble(twice, {1, 2}, o).translate(english);
    });
}
END_TEST

START_TEST(c34_functions)
{
    starve([] {
        const std::vector<float> x(6, 0.5f);
        std::vector<float> out(6);
        tfm::attention(out, {}, x, x, x, 3, 3, 2, 2, counted(tfm::attention_options()));
        const std::vector<tfm::texts> refs = {german, english};
        ck_assert_double_eq(tfm::bleu(german, refs, counted(tfm::bleu_options())).score, 100);
        tfm::measure_options o = counted(tfm::measure_options());
        o.seconds = 0;
        ck_assert(tfm::measure_product(3, 3, 3, o).flops > 0);
    });
}
END_TEST

/* Refused memory in the middle of its work, a handle then gives what one gives that never was. */
START_TEST(c34_handles_go_on)
{
    const tfm::model m = small_model();
    const std::size_t live = memory.live;
    {
        tfm::trainer hungry(m, counted_training(9)), fed(m, counted_training(9));
        starve([&] { hungry.set_data(english, german); }, true);
        fed.set_data(english, german);
        starve([&] { hungry.step(); }, true);
        fed.step();
        ck_assert(same_weights(hungry.model(), fed.model()));
        tfm::decoder_options o = counted(tfm::decoder_options());
        o.max_length = 5;
        tfm::decoder starved(m, o), sated(m, o);
        starve([&] { starved.translate(english); }, true);
        sated.translate(english);
        for (std::size_t i = 0; i < english.size(); i++) {
            ck_assert(starved.text(i) == sated.text(i));
            ck_assert_double_eq(starved.score(i), sated.score(i));
        }
    }
    ck_assert_uint_eq(memory.live, live);
}
END_TEST

} // namespace

/* Inlined, gcc takes the pair of malloc and free in them for a mistake. */
[[gnu::noinline]] void *operator new(std::size_t size)
{
    void *const block = memory.refuse() ? nullptr : std::malloc(size ? size : 1);
    if (!block) throw std::bad_alloc();
    memory.live++;
    return block;
}

[[gnu::noinline]] void operator delete(void *block) noexcept
{
    memory.live -= block != nullptr;
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    operator delete(block);
}

int main()
{
    return run_tests("cpp_memory",
                     {c34_tokenizers, c34_models, c34_trainings, c34_translations, c34_functions, c34_handles_go_on});
}
