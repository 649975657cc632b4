/*
 * Translates standard input with several threads that share one model: a server in small. Each has a decoder of its
 * own and takes the next few lines when it is free; the answers are printed in the order of the lines, the same for any
 * number of threads.
 *
 * Usage: threads_cpp MODEL [N_THREADS] < LINES
 */
#include "example.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <transformer.hpp>

constexpr std::size_t chunk = 8; /* lines that a thread takes at once: a larger batch is faster, a smaller one fairer */

static void work(const tfm::model &model, const std::vector<std::string> &lines, std::vector<std::string> &answers,
                 std::atomic<std::size_t> &next)
{
    tfm::decoder decoder(model); /* n_threads 1: one core for each decoder */
    for (std::size_t begin; (begin = next.fetch_add(chunk)) < lines.size();) {
        const std::size_t n = std::min(chunk, lines.size() - begin);
        decoder.translate(tfm::span<const std::string>(&lines[begin], n));
        /* Results are lent until the decoder's next call, so they are copied; nobody else writes these entries. */
        for (std::size_t i = 0; i < n; i++) answers[begin + i] = decoder.text(i);
    }
}

static int translate(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        std::cerr << "usage: threads_cpp MODEL [N_THREADS] < LINES\n";
        return 2;
    }
    const std::uint32_t n_threads = argc > 2 ? read_number(argv[2], 256) : 2;
    const tfm::model model = tfm::model::load(argv[1]);
    const std::vector<std::string> lines = read_lines(std::cin);
    std::vector<std::string> answers(lines.size());
    std::atomic<std::size_t> next{0};

    std::vector<std::future<void>> threads;
    for (std::uint32_t i = 0; i < n_threads; i++)
        threads.push_back(std::async(std::launch::async, [&] { work(model, lines, answers, next); }));
    for (std::future<void> &thread : threads) thread.get(); /* what a thread threw comes out here */
    for (const std::string &answer : answers) std::cout << answer << '\n';
    return 0;
}

int main(int argc, char **argv)
{
    return run_example("threads_cpp", [&] { return translate(argc, argv); });
}
