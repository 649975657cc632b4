/*
 * Translates standard input, a line each. With N_BEST above 1, that many answers for each line: the line's number,
 * score and text.
 *
 * Usage: translate_cpp MODEL [BEAM [N_BEST]] < LINES
 */
#include "example.hpp"

#include <iomanip>
#include <transformer.hpp>

static int translate(int argc, char **argv)
{
    if (argc < 2 || argc > 4) {
        std::cerr << "usage: translate_cpp MODEL [BEAM [N_BEST]] < LINES\n";
        return 2;
    }
    tfm::decoder_options options;
    options.n_threads = 0;       /* all cores */
    options.replace_invalid = 1; /* text from anywhere: what is no UTF-8 becomes U+FFFD instead of an error */
    if (argc > 2) options.beam = read_number(argv[2], 1024);
    if (argc > 3) options.n_best = read_number(argv[3], options.beam);

    const tfm::model model = tfm::model::load(argv[1]);
    tfm::decoder decoder(model, options);
    const std::vector<std::string> lines = read_lines(std::cin);
    decoder.translate(lines);
    std::cout << std::fixed << std::setprecision(4);
    for (std::size_t i = 0; i < lines.size(); i++)
        for (std::size_t rank = 0; rank < decoder.count(i); rank++) {
            if (options.n_best > 1) std::cout << i + 1 << '\t' << decoder.score(i, rank) << '\t';
            std::cout << decoder.text(i, rank) << '\n';
        }
    return 0;
}

int main(int argc, char **argv)
{
    return run_example("translate_cpp", [&] { return translate(argc, argv); });
}
