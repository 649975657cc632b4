/* What the examples in C++ share: the lines of a file, and numbers among the arguments. */
#ifndef EXAMPLE_HPP
#define EXAMPLE_HPP

#include <cstdint>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

inline std::vector<std::string> read_lines(std::istream &in)
{
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

inline std::vector<std::string> read_lines(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error(path + " cannot be read");
    return read_lines(in);
}

/* A whole number in 1..most. */
inline std::uint32_t read_number(const std::string &text, std::uint32_t most)
{
    const bool digits = !text.empty() && text.size() < 11 && text.find_first_not_of("0123456789") == text.npos;
    const std::uint64_t value = digits ? std::stoull(text) : 0;
    if (value < 1 || value > most) throw std::invalid_argument(text + " is not in 1.." + std::to_string(most));
    return static_cast<std::uint32_t>(value);
}

/* Runs an example; a failure becomes one line on standard error and exit code 1, a wrong argument 2. */
template <class Main> int run_example(const char *name, Main &&example)
{
    int code = 1;
    try {
        return example();
    } catch (const std::invalid_argument &e) {
        std::cerr << name << ": " << e.what() << '\n';
        code = 2;
    } catch (const std::exception &e) {
        std::cerr << name << ": " << e.what() << '\n';
    }
    return code;
}

#endif
