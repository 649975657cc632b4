/*
 * Trains a small model on pairs of lines that lie in memory, and saves it.
 *
 * Usage: train_cpp SOURCES TARGETS MODEL [STEPS]     line i of TARGETS translates line i of SOURCES
 */
#include "example.hpp"

#include <cmath>
#include <transformer.hpp>

using strings = std::vector<std::string>;

static tfm::tokenizer learn_tokenizer(const strings &sources, const strings &targets)
{
    strings both = sources;
    both.insert(both.end(), targets.begin(), targets.end()); /* one vocabulary of both languages */
    tfm::tokenizer_options options;
    options.vocab_size = 2000;
    return tfm::tokenizer::learn(both, options);
}

/* The rate rises for a quarter of the training, to 0.002 whatever its length: eq. (3) of the paper with lr_scale. */
static tfm::trainer_options training_options(std::uint32_t steps)
{
    tfm::trainer_options options;
    options.max_steps = steps;
    options.warmup = steps / 4 + 1;
    options.lr_scale = 0.002f * std::sqrt(128.0f * static_cast<float>(options.warmup)); /* 128: d_model of "tiny" */
    options.progress = [](const tfm_progress &p) {
        if (p.event == TFM_EVENT_EPOCH) std::cerr << "\rstep " << p.step << ", loss " << p.loss << "   ";
        if (p.event == TFM_EVENT_DONE) std::cerr << '\n' << p.message << '\n';
        return false; /* true would stop the training */
    };
    return options;
}

static int train(int argc, char **argv)
{
    if (argc < 4 || argc > 5) {
        std::cerr << "usage: train_cpp SOURCES TARGETS MODEL [STEPS]\n";
        return 2;
    }
    const std::uint32_t steps = argc > 4 ? read_number(argv[4], 1000000) : 2000;
    const strings sources = read_lines(std::string(argv[1])), targets = read_lines(std::string(argv[2]));

    const tfm::tokenizer tokenizer = learn_tokenizer(sources, targets);
    tfm::model_options sizes("tiny");
    sizes.vocab_size = tokenizer.vocab_size();
    tfm::trainer trainer(tfm::model(sizes, tokenizer), training_options(steps));
    const tfm_data_report report = trainer.set_data(sources, targets);
    std::cout << report.pairs << " pairs, " << report.blank << " blank, " << report.too_long << " too long\n";
    trainer.run();
    const tfm::model trained = trainer.model();
    trained.save(argv[3]);
    std::cout << argv[3] << ": " << trained.parameter_count() << " tensors\n";
    return 0;
}

int main(int argc, char **argv)
{
    return run_example("train_cpp", [&] { return train(argc, argv); });
}
