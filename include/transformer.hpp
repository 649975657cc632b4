/*
 * C++17 over transformer.h, header only. That header is the reference: what a call does, takes and refuses stands
 * there; here stands what C++ adds.
 *
 *   handles     tokenizer, model, decoder and trainer are moved, never copied, and free what they own. A moved-from
 *               handle is empty: get() is null, and calls that can fail throw.
 *   errors      every failed call throws tfm::error, which carries the library's message and status: TFM_E_NOMEM and
 *               TFM_E_CANCELLED too. std::bad_alloc comes from the containers of this header alone.
 *   options     x_options is tfm_x_options, born with the defaults; change fields, hand it over.
 *   callbacks   any callable. An exception that one throws ends the call as soon as the library can, and comes out of
 *               it. An allocator is called from C and must not throw.
 *   text        std::string_view for a line; for lines any container of what converts to it. Read before the call
 *               returns.
 *   threads     as transformer.h says for each handle.
 */
#ifndef TRANSFORMER_HPP
#define TRANSFORMER_HPP

#include "transformer.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tfm
{

class error : public std::runtime_error
{
public:
    explicit error(const tfm_error &detail) : std::runtime_error(detail.message), status_(detail.status) {}
    error(tfm_status status, const std::string &message) : std::runtime_error(message), status_(status) {}

    /* A tfm_status. */
    std::int32_t status() const noexcept { return status_; }

private:
    std::int32_t status_;
};

/* ---------------------------------------------------------------------------------------------------- views ---- */

/* A pointer and a size, of any contiguous container: what std::span is from C++20 on. */
template <class T> class span
{
    template <class From> using same_items = std::is_convertible<std::remove_pointer_t<From> (*)[], T (*)[]>;

public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Container,
              class = std::enable_if_t<!std::is_same_v<std::decay_t<Container>, span> &&
                                       same_items<decltype(std::data(std::declval<Container &>()))>::value>>
    constexpr span(Container &&items) : data_(std::data(items)), size_(std::size(items))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using ids_view = span<const std::int32_t>;

namespace detail
{

inline tfm_text lend(std::string_view text) noexcept
{
    return {text.data(), text.size()};
}

inline tfm_ids lend(ids_view ids) noexcept
{
    return {ids.data(), ids.size()};
}

inline std::string_view view(tfm_text text) noexcept
{
    return {text.data, text.size};
}

} // namespace detail

/* What a container holds, as the array that a C call reads. Nothing is copied but pointers and sizes. */
template <class Item, class View> class list
{
    template <class Container> using element = decltype(*std::begin(std::declval<const Container &>()));

public:
    list() = default;
    list(std::initializer_list<View> views) { add(views); }
    template <class Container, class = std::enable_if_t<std::is_convertible_v<element<Container>, View>>>
    list(const Container &items)
    {
        static_assert(std::is_reference_v<element<Container>> || std::is_same_v<element<Container>, View>,
                      "the container must hold its items: they are lent to the library, not copied");
        add(items);
    }

    const Item *data() const noexcept { return items_.data(); }
    std::size_t size() const noexcept { return items_.size(); }

private:
    template <class Items> void add(const Items &items)
    {
        for (const auto &item : items) items_.push_back(detail::lend(View(item)));
    }

    std::vector<Item> items_;
};

using texts = list<tfm_text, std::string_view>;
using id_lists = list<tfm_ids, ids_view>;

/* Numbers that their owner lends, row-major. */
struct matrix {
    const float *data;
    std::size_t rows, cols;

    span<const float> operator[](std::size_t row) const noexcept { return {data + row * cols, cols}; }
};

/* Attention weights of every layer and head, which a decoder lends: shape is layers, heads, rows, columns. */
struct attention_weights {
    const float *data;
    std::size_t shape[4];

    matrix operator()(std::size_t layer, std::size_t head) const noexcept
    {
        return {data + (layer * shape[1] + head) * shape[2] * shape[3], shape[2], shape[3]};
    }
};

/* ------------------------------------------------------------------------------------------------ machinery ---- */

namespace detail
{

template <class T, void (*Free)(T *)> struct freer {
    void operator()(T *object) const noexcept { Free(object); }
};
template <class T, void (*Free)(T *)> using owner = std::unique_ptr<T, freer<T, Free>>;

/* Takes an exception from a callback past the C frames that called it. */
class carrier
{
public:
    /* What f returns, or nonzero, "stop", once something was thrown. */
    template <class F> std::int32_t run(F &&f) noexcept
    {
        if (thrown_) return 1;
        try {
            return f() ? 1 : 0;
        } catch (...) {
            thrown_ = std::current_exception();
            return 1;
        }
    }

    void rethrow()
    {
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

private:
    std::exception_ptr thrown_;
};

inline void check(tfm_status status, const tfm_error &error)
{
    if (status != TFM_OK) throw tfm::error(error);
}

/* Calls a C function whose last argument is the error, and throws what it reports. */
template <class F, class... Args> void call(F *function, Args... args)
{
    tfm_error error;
    check(function(args..., &error), error);
}

/* The same for a function that may make callbacks: what one of them threw comes first. */
template <class F, class... Args> void call_back(carrier &carrier, F *function, Args... args)
{
    tfm_error error;
    const tfm_status status = function(args..., &error);
    carrier.rethrow();
    check(status, error);
}

/* Calls a C function that gives ownership through its first argument; nothing leaks when a callback threw. */
template <class Owner, class F, class... Args> Owner create(carrier &carrier, F *function, Args... args)
{
    typename Owner::pointer object = nullptr;
    tfm_error error;
    const tfm_status status = function(&object, args..., &error);
    Owner out(object);
    carrier.rethrow();
    check(status, error);
    return out;
}

template <class Owner, class F, class... Args> Owner create(F *function, Args... args)
{
    carrier none;
    return create<Owner>(none, function, args...);
}

/* A container filled by a call that works like snprintf; a good guess of the size spares its second run. */
template <class Container, class F> Container fill(std::size_t guess, F &&write)
{
    Container items;
    items.resize(guess);
    std::size_t size = write(items.data(), items.size());
    const bool cut = size > items.size();
    items.resize(size);
    if (cut) write(items.data(), items.size());
    return items;
}

inline void require(bool holds, const std::string &message)
{
    if (!holds) throw error(TFM_E_INVALID, message);
}

/* A name or path, which would end at a NUL in C. */
inline const char *c_string(const std::string &text)
{
    require(text.find('\0') == std::string::npos, "a name or path has a NUL after '" + std::string(text.c_str()) + "'");
    return text.c_str();
}

inline void require_equal(std::size_t a, const char *what_a, std::size_t b, const char *what_b)
{
    require(a == b, std::to_string(a) + " " + what_a + ", but " + std::to_string(b) + " " + what_b);
}

inline void require_shape(const char *name, std::size_t size, std::size_t rows, std::size_t cols)
{
    const bool holds = rows && cols ? size / rows == cols && size % rows == 0 : size == 0;
    require(holds, std::string(name) + " has " + std::to_string(size) + " numbers, not " + std::to_string(rows) +
                       " * " + std::to_string(cols));
}

template <class Object>
std::vector<tfm_profile_entry> profile(const Object *object, std::size_t (*count)(const Object *),
                                       tfm_status (*at)(tfm_profile_entry *, std::size_t, const Object *, std::size_t,
                                                        tfm_error *))
{
    std::vector<tfm_profile_entry> entries(count(object));
    for (std::size_t i = 0; i < entries.size(); i++) call(at, &entries[i], sizeof entries[i], object, i);
    return entries;
}

} // namespace detail

/* -------------------------------------------------------------------------------------------------- options ---- */

/* level: TFM_LOG_*. */
using log_function = std::function<void(std::int32_t level, std::string_view message)>;
/* true stops the training. */
using progress_function = std::function<bool(const tfm_progress &progress)>;
/* true cancels the translation. */
using decode_progress_function = std::function<bool(std::size_t done, std::size_t total)>;
/* true cancels the translation: told of a sentence as it grows, in whole characters, or when it is done. */
using partial_function = std::function<bool(std::size_t sentence, std::string_view text, ids_view ids)>;
using sentence_function = std::function<bool(std::size_t sentence)>;
/* Replaces the values by their sum over all ranks; throws when it cannot. */
using reduce_function = std::function<void(span<float> values)>;

/* A callback of a structure below takes the place of the C structure's pointer of that name and its _user field. */
struct tokenizer_options : tfm_tokenizer_options {
    log_function log;

    tokenizer_options() noexcept { tfm_tokenizer_options_init(this, sizeof(tfm_tokenizer_options)); }
};

struct model_options : tfm_model_options {
    model_options() noexcept { tfm_model_options_init(this, sizeof(tfm_model_options)); }
    explicit model_options(const std::string &preset_name) : model_options() { preset(preset_name); }

    void preset(const std::string &name) { detail::call(tfm_model_options_preset, this, detail::c_string(name)); }
    void set(const std::string &name, const std::string &value)
    {
        detail::call(tfm_model_options_set, this, detail::c_string(name), detail::c_string(value));
    }
    tfm_model_costs costs(std::uint32_t n, std::uint32_t m) const
    {
        tfm_model_costs out;
        detail::call(tfm_model_options_costs, &out, sizeof out, this, n, m);
        return out;
    }
};

struct load_options : tfm_load_options {
    load_options() noexcept { tfm_load_options_init(this, sizeof(tfm_load_options)); }
};

struct decoder_options : tfm_decoder_options {
    decode_progress_function progress;
    std::vector<std::vector<std::int32_t>> forbidden; /* instead of the C structure's, and its number */

    decoder_options() noexcept { tfm_decoder_options_init(this, sizeof(tfm_decoder_options)); }
};

struct trainer_options : tfm_trainer_options {
    progress_function progress;
    log_function log;
    reduce_function reduce;

    trainer_options() noexcept { tfm_trainer_options_init(this, sizeof(tfm_trainer_options)); }
};

struct attention_options : tfm_attention_options {
    attention_options() noexcept { tfm_attention_options_init(this, sizeof(tfm_attention_options)); }
};

struct bleu_options : tfm_bleu_options {
    bleu_options() noexcept { tfm_bleu_options_init(this, sizeof(tfm_bleu_options)); }
};

struct chrf_options : tfm_chrf_options {
    chrf_options() noexcept { tfm_chrf_options_init(this, sizeof(tfm_chrf_options)); }
};

struct ter_options : tfm_ter_options {
    ter_options() noexcept { tfm_ter_options_init(this, sizeof(tfm_ter_options)); }
};

struct parseval_options : tfm_parseval_options {
    parseval_options() noexcept { tfm_parseval_options_init(this, sizeof(tfm_parseval_options)); }
};

struct pretokenize_options : tfm_pretokenize_options {
    pretokenize_options() noexcept { tfm_pretokenize_options_init(this, sizeof(tfm_pretokenize_options)); }
};

struct measure_options : tfm_measure_options {
    measure_options() noexcept { tfm_measure_options_init(this, sizeof(tfm_measure_options)); }
};

namespace detail
{

/* A copy of an object's callbacks, at an address that the C object can keep. */
class hooks
{
public:
    carrier thrown;

    tfm_tokenizer_options wire(const tokenizer_options &options)
    {
        log_ = options.log;
        tfm_tokenizer_options c = options;
        c.log = log_ ? on_log : nullptr;
        c.log_user = this;
        return c;
    }

    tfm_decoder_options wire(const decoder_options &options)
    {
        decode_progress_ = options.progress;
        tfm_decoder_options c = options;
        c.progress = decode_progress_ ? on_decode_progress : nullptr;
        c.progress_user = this;
        forbidden_ = id_lists(options.forbidden);
        c.forbidden = forbidden_.data();
        c.n_forbidden = forbidden_.size();
        return c;
    }

    /* progress is always there: it stops the training when the log threw. */
    tfm_trainer_options wire(const trainer_options &options)
    {
        progress_ = options.progress;
        log_ = options.log;
        reduce_ = options.reduce;
        tfm_trainer_options c = options;
        c.progress = on_progress;
        c.log = log_ ? on_log : nullptr;
        c.reduce = reduce_ ? on_reduce : nullptr;
        c.progress_user = c.log_user = c.reduce_user = this;
        return c;
    }

private:
    static void on_log(void *user, std::int32_t level, const char *message) noexcept
    {
        hooks &h = *static_cast<hooks *>(user);
        h.thrown.run([&] { return h.log_(level, message), false; });
    }

    static std::int32_t on_progress(void *user, const tfm_progress *progress) noexcept
    {
        hooks &h = *static_cast<hooks *>(user);
        return h.thrown.run([&] { return h.progress_ && h.progress_(*progress); });
    }

    static std::int32_t on_decode_progress(void *user, std::size_t done, std::size_t total) noexcept
    {
        hooks &h = *static_cast<hooks *>(user);
        return h.thrown.run([&] { return h.decode_progress_(done, total); });
    }

    static std::int32_t on_reduce(void *user, float *values, std::size_t n) noexcept
    {
        hooks &h = *static_cast<hooks *>(user);
        return h.thrown.run([&] { return h.reduce_({values, n}), false; });
    }

    log_function log_;
    progress_function progress_;
    decode_progress_function decode_progress_;
    id_lists forbidden_;
    reduce_function reduce_;
};

} // namespace detail

/* ------------------------------------------------------------------------------------------------ tokenizer ---- */

/* A tokenizer that somebody else owns: a tfm::tokenizer, or the model it lies in. Empty when there is none. */
class tokenizer_view
{
public:
    tokenizer_view() noexcept = default;
    explicit tokenizer_view(const tfm_tokenizer *lent) noexcept : object_(lent) {}

    const tfm_tokenizer *get() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

    void save(const std::string &path) const { detail::call(tfm_tokenizer_save, get(), detail::c_string(path)); }
    /* tfm_tokenizer_export(). */
    void export_codes(const std::string &path) const
    {
        detail::call(tfm_tokenizer_export, get(), detail::c_string(path));
    }

    std::uint32_t vocab_size() const noexcept { return tfm_tokenizer_vocab_size(get()); }
    std::uint32_t kind() const noexcept { return tfm_tokenizer_kind(get()); }
    std::string_view token(std::int32_t id) const noexcept { return detail::view(tfm_tokenizer_token(get(), id)); }
    std::int32_t id(std::string_view token) const noexcept { return tfm_tokenizer_id(get(), detail::lend(token)); }

    std::vector<std::int32_t> encode(std::string_view line) const
    {
        return filled<std::vector<std::int32_t>>(line.size() + 1, tfm_tokenizer_encode, detail::lend(line));
    }
    std::string decode(ids_view ids) const
    {
        return filled<std::string>(8 * ids.size(), tfm_tokenizer_decode, detail::lend(ids));
    }
    tfm_special_ids special() const noexcept
    {
        tfm_special_ids ids;
        tfm_tokenizer_special(&ids, get());
        return ids;
    }
    /* tfm_tokenizer_target(): what encodes text of the target; lent by this tokenizer. */
    tokenizer_view target() const noexcept { return tokenizer_view(tfm_tokenizer_target(get())); }
    /* tfm_tokenizer_normalize(). */
    std::string normalize(std::string_view line) const
    {
        return filled<std::string>(2 * line.size(), tfm_tokenizer_normalize, detail::lend(line));
    }
    /* tfm_tokenizer_nbest(): the n most probable ways to cut a line, each with its log-probability. */
    std::vector<std::pair<std::vector<std::int32_t>, float>> nbest(std::string_view line, std::size_t n) const
    {
        n = n < 1024 ? n : 1024; /* more are never given */
        std::vector<std::int32_t> ids(n * (line.size() + 1));
        std::vector<std::size_t> ends(n);
        std::vector<float> scores(n);
        std::size_t size = 0;
        std::size_t got;
        for (bool again = true; again; again = size > ids.size(), ids.resize(size)) {
            got = n;
            detail::call(tfm_tokenizer_nbest, ids.data(), ids.size(), &size, ends.data(), scores.data(), &got, get(),
                         detail::lend(line));
        }
        std::vector<std::pair<std::vector<std::int32_t>, float>> ways;
        for (std::size_t i = 0, start = 0; i < got; start = ends[i++])
            ways.emplace_back(std::vector<std::int32_t>(ids.data() + start, ids.data() + ends[i]), scores[i]);
        return ways;
    }
    std::string segment(std::string_view line) const
    {
        return filled<std::string>(2 * line.size(), tfm_tokenizer_segment, detail::lend(line));
    }
    /* tfm_tokenizer_encode_dropout() and tfm_tokenizer_segment_dropout(): merges are left out at random. */
    std::vector<std::int32_t> encode_dropout(std::string_view line, float dropout, std::uint64_t seed,
                                             std::uint64_t draw) const
    {
        return filled<std::vector<std::int32_t>>(line.size() + 1, tfm_tokenizer_encode_dropout, detail::lend(line),
                                                 dropout, seed, draw);
    }
    std::string segment_dropout(std::string_view line, float dropout, std::uint64_t seed, std::uint64_t draw) const
    {
        return filled<std::string>(4 * line.size(), tfm_tokenizer_segment_dropout, detail::lend(line), dropout, seed,
                                   draw);
    }

protected:
    const tfm_tokenizer *object_ = nullptr;

private:
    template <class Container, class F, class... Inputs>
    Container filled(std::size_t guess, F *function, Inputs... inputs) const
    {
        return detail::fill<Container>(guess, [&](auto *out, std::size_t capacity) {
            std::size_t size = 0;
            detail::call(function, out, capacity, &size, get(), inputs...);
            return size;
        });
    }
};

class tokenizer : public tokenizer_view
{
    using owner = detail::owner<tfm_tokenizer, tfm_tokenizer_free>;

public:
    /* Takes ownership; release() gives it up. */
    explicit tokenizer(tfm_tokenizer *owned) noexcept : tokenizer(owner(owned)) {}
    tokenizer(tokenizer &&other) noexcept : tokenizer(owner(other.release())) {}
    tokenizer &operator=(tokenizer &&other) noexcept
    {
        owner_.reset(other.release());
        object_ = owner_.get();
        return *this;
    }
    tfm_tokenizer *release() noexcept
    {
        object_ = nullptr;
        return owner_.release();
    }

    static tokenizer learn(const texts &lines, const tokenizer_options &options = {})
    {
        detail::hooks hooks;
        const tfm_tokenizer_options c = hooks.wire(options);
        return tokenizer(detail::create<owner>(hooks.thrown, tfm_tokenizer_learn, &c, lines.data(), lines.size()));
    }
    static tokenizer load(const std::string &path, const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(detail::create<owner>(tfm_tokenizer_load, detail::c_string(path), allocator));
    }
    /* tfm_tokenizer_import(). */
    static tokenizer import_codes(const std::string &path, const texts &lines, const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(
            detail::create<owner>(tfm_tokenizer_import, detail::c_string(path), lines.data(), lines.size(), allocator));
    }

    /* tfm_tokenizer_pair(): both as one, copied. */
    static tokenizer pair(const tokenizer_view &source, const tokenizer_view &target,
                          const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(detail::create<owner>(tfm_tokenizer_pair, source.get(), target.get(), allocator));
    }
    /* tfm_tokenizer_renumber(): a SentencePiece model's pieces with the ids of a vocabulary file. */
    static tokenizer renumbered(const tokenizer_view &from, const std::string &vocabulary,
                                const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(
            detail::create<owner>(tfm_tokenizer_renumber, from.get(), detail::c_string(vocabulary), allocator));
    }

    /* tfm_tokenizer_restrict(); a vocabulary of "" is none. */
    static tokenizer restricted(const tokenizer_view &from, const std::string &vocabulary, std::uint32_t threshold = 0,
                                const texts &glossaries = {}, const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(detail::create<owner>(tfm_tokenizer_restrict, from.get(),
                                               vocabulary.empty() ? nullptr : detail::c_string(vocabulary), threshold,
                                               glossaries.data(), glossaries.size(), allocator));
    }
    /* tfm_tokenizer_keep_case(). */
    static tokenizer keeping_case(const tokenizer_view &from, const tfm_allocator *allocator = nullptr)
    {
        return tokenizer(detail::create<owner>(tfm_tokenizer_keep_case, from.get(), allocator));
    }

private:
    explicit tokenizer(owner owned) noexcept : tokenizer_view(owned.get()), owner_(std::move(owned)) {}

    owner owner_;
};

inline std::size_t utf8_check(std::string_view text) noexcept
{
    return tfm_utf8_check(detail::lend(text));
}

inline std::string utf8_repair(std::string_view text)
{
    return detail::fill<std::string>(text.size(), [&](char *out, std::size_t capacity) {
        std::size_t size = 0;
        tfm_utf8_repair(out, capacity, &size, detail::lend(text));
        return size;
    });
}

namespace detail
{

template <class F> std::string words(F *function, std::size_t guess, std::string_view line, const tfm_pretokenize_options &options)
{
    return fill<std::string>(guess, [&](char *out, std::size_t capacity) {
        std::size_t size = 0;
        call(function, out, capacity, &size, &options, lend(line));
        return size;
    });
}

} // namespace detail

/* tfm_pretokenize(). */
inline std::string pretokenize(std::string_view line, const pretokenize_options &options = {})
{
    return detail::words(tfm_pretokenize, 2 * line.size(), line, options);
}

/* tfm_detokenize(). */
inline std::string detokenize(std::string_view line, const pretokenize_options &options = {})
{
    return detail::words(tfm_detokenize, line.size(), line, options);
}

/* ---------------------------------------------------------------------------------------------------- model ---- */

/* The numbers of a parameter; none when it is a matrix of a quantised model. */
inline span<const float> values(const tfm_parameter &p) noexcept
{
    return p.data ? span<const float>(p.data, std::size_t{p.shape[0]} * p.shape[1] * p.shape[2]) : span<const float>();
}

class model
{
    using owner = detail::owner<tfm_model, tfm_model_free>;

public:
    /* Random weights. The tokenizer is copied. */
    explicit model(const model_options &options, tokenizer_view tokenizer = {})
        : owner_(detail::create<owner>(tfm_model_create, &options, tokenizer.get()))
    {
    }
    /* Given weights, copied. */
    model(const model_options &options, tokenizer_view tokenizer, span<const tfm_parameter> parameters)
        : owner_(detail::create<owner>(tfm_model_create_from, &options, tokenizer.get(), parameters.data(),
                                       parameters.size()))
    {
    }
    /* Takes ownership; release() gives it up. */
    explicit model(tfm_model *owned) noexcept : owner_(owned) {}
    tfm_model *release() noexcept { return owner_.release(); }
    tfm_model *get() const noexcept { return owner_.get(); }

    static model load(const std::string &path, const load_options &options = {})
    {
        return model(detail::create<owner>(tfm_model_load, detail::c_string(path), &options));
    }
    /* models: a container of models, or of references to them. */
    template <class Models> static model average(const Models &models)
    {
        std::vector<const tfm_model *> objects;
        for (const model &one : models) objects.push_back(one.get());
        return model(detail::create<owner>(tfm_model_average, objects.data(), objects.size()));
    }

    void save(const std::string &path) const { detail::call(tfm_model_save, get(), detail::c_string(path)); }
    void save_as(const std::string &path, std::uint32_t dtype) const
    {
        detail::call(tfm_model_save_as, get(), detail::c_string(path), dtype);
    }
    void export_as(const std::string &path, std::uint32_t format) const
    {
        detail::call(tfm_model_export, get(), detail::c_string(path), format);
    }

    std::uint32_t dtype() const noexcept { return tfm_model_dtype(get()); }
    model_options options() const noexcept
    {
        model_options out;
        tfm_model_get_options(&out, sizeof(tfm_model_options), get());
        return out;
    }
    /* Lent: the model must outlive it. */
    tokenizer_view tokenizer() const noexcept { return tokenizer_view(tfm_model_tokenizer(get())); }

    /* Lent too. A matrix of a quantised model has a name and a shape, and its data is null. */
    std::size_t parameter_count() const noexcept { return tfm_model_parameter_count(get()); }
    tfm_parameter parameter(std::size_t index) const { return parameter_of(tfm_model_parameter_at, index); }
    tfm_parameter parameter(const std::string &name) const
    {
        return parameter_of(tfm_model_parameter_named, detail::c_string(name));
    }

private:
    explicit model(owner owned) noexcept : owner_(std::move(owned)) {}

    template <class F, class Key> tfm_parameter parameter_of(F *function, Key key) const
    {
        tfm_parameter out;
        tfm_error error;
        const tfm_status status = function(&out, get(), key, &error);
        if (status != TFM_E_UNSUPPORTED) detail::check(status, error);
        return out;
    }

    owner owner_;
};

/* -------------------------------------------------------------------------------------------------- decoder ---- */

/* What translations must keep to: of each line something, or nothing at all. */
struct controls {
    std::vector<std::string> prefixes;                    /* how its translation begins                                  */
    std::vector<std::vector<std::string>> terms;          /* phrases that must appear there                              */
    std::vector<std::vector<std::size_t>> term_times;     /* how often each, neither more nor less; 0: at least once     */
    std::vector<std::vector<std::string>> placeholders;   /* what stands in the line and comes as often, unchanged       */
    std::vector<std::vector<std::size_t>> placeholder_times; /* how often each at least; 0: as often as in the line      */
};

/* What it returns as views is lent until its next call. The model must outlive it. */
class decoder
{
    using owner = detail::owner<tfm_decoder, tfm_decoder_free>;

public:
    explicit decoder(const model &model, const decoder_options &options = {})
        : hooks_(std::make_unique<detail::hooks>())
    {
        const tfm_decoder_options c = hooks_->wire(options);
        owner_ = detail::create<owner>(tfm_decoder_create, model.get(), &c);
    }
    explicit decoder(const model &&model, const decoder_options &options = {}) = delete;
    /* Models that decode together, in a container of them, or of references to them; weights may be empty: equal. */
    template <class Models>
    static decoder ensemble(const Models &models, const std::vector<float> &weights = {},
                            const decoder_options &options = {})
    {
        std::vector<const tfm_model *> objects;
        decoder out;
        for (const model &one : models) objects.push_back(one.get());
        if (!weights.empty()) detail::require_equal(objects.size(), "models", weights.size(), "weights");
        const tfm_decoder_options c = out.hooks_->wire(options);
        out.owner_ = detail::create<owner>(tfm_decoder_create_ensemble, objects.data(),
                                           weights.empty() ? nullptr : weights.data(), objects.size(), &c);
        return out;
    }

    tfm_decoder *get() const noexcept { return owner_.get(); }

    void translate(const texts &lines) { call(tfm_decoder_translate, lines.data(), lines.size()); }
    void translate_ids(const id_lists &sources) { call(tfm_decoder_translate_ids, sources.data(), sources.size()); }
    /* The same, each translation behind its prefix, which may be empty. */
    void translate(const texts &lines, const texts &prefixes)
    {
        tfm_request r = request(lines.size(), prefixes.size());
        r.lines = lines.data();
        r.prefix_lines = prefixes.data();
        run(r);
    }
    void translate_ids(const id_lists &sources, const id_lists &prefixes)
    {
        tfm_request r = request(sources.size(), prefixes.size());
        r.sources = sources.data();
        r.prefixes = prefixes.data();
        run(r);
    }
    /* The same of any request, whose arrays are the caller's. */
    void run(const tfm_request &request) { call(tfm_decoder_run, &request); }
    /* terms[i]: phrases that must appear in the translation of line i. */
    void translate_with_terms(const texts &lines, const std::vector<std::vector<std::string>> &terms)
    {
        run_with(lines, terms, "terms", &tfm_request::n_terms, &tfm_request::term_lines);
    }
    /* placeholders[i]: what stands in line i and comes into its translation as often, unchanged. */
    void translate_with_placeholders(const texts &lines, const std::vector<std::vector<std::string>> &placeholders)
    {
        run_with(lines, placeholders, "placeholders", &tfm_request::n_placeholders, &tfm_request::placeholders);
    }
    /* The same of all of them together. */
    void translate_with(const texts &lines, const controls &with)
    {
        const groups<std::string_view> terms(with.terms), placeholders(with.placeholders);
        const groups<std::size_t> term_times(with.term_times), placeholder_times(with.placeholder_times);
        const texts prefixes(std::vector<std::string_view>(with.prefixes.begin(), with.prefixes.end())),
            flat_terms(terms.all), flat_placeholders(placeholders.all);
        tfm_request r = request(lines.size(), lines.size());
        r.lines = lines.data();
        if (!with.prefixes.empty()) {
            detail::require_equal(lines.size(), "sources", prefixes.size(), "prefixes");
            r.prefix_lines = prefixes.data();
        }
        if (terms.given(lines.size(), "terms")) {
            r.n_terms = terms.sizes.data();
            r.term_lines = flat_terms.data();
        }
        r.term_times = term_times.times_of(terms.sizes, "term_times");
        if (placeholders.given(lines.size(), "placeholders")) {
            r.n_placeholders = placeholders.sizes.data();
            r.placeholders = flat_placeholders.data();
        }
        r.placeholder_times = placeholder_times.times_of(placeholders.sizes, "placeholder_times");
        run(r);
    }
    /* The same, telling of each sentence when it is done, whose results can then be asked for, and as it grows. */
    void run(tfm_request request, sentence_function sentence, partial_function partial = nullptr)
    {
        detail::require(owner_ != nullptr, "the decoder was moved away");
        detail::require(!request.sentence && !request.partial, "a request that has functions of its own takes no others");
        listeners own{hooks_->thrown, std::move(sentence), std::move(partial)};
        if (own.sentence) request.sentence = on_sentence;
        if (own.partial) request.partial = on_partial;
        request.user = &own;
        run(request);
    }
    void stream(const texts &lines, sentence_function sentence, partial_function partial = nullptr)
    {
        tfm_request r = request(lines.size(), lines.size());
        r.lines = lines.data();
        run(r, std::move(sentence), std::move(partial));
    }
    /* Results of the last translation. */
    std::size_t count(std::size_t sentence) const noexcept { return tfm_decoder_count(get(), sentence); }
    std::string_view text(std::size_t sentence, std::size_t rank = 0) const noexcept
    {
        return detail::view(tfm_decoder_text(get(), sentence, rank));
    }
    ids_view ids(std::size_t sentence, std::size_t rank = 0) const noexcept
    {
        const tfm_ids ids = tfm_decoder_ids(get(), sentence, rank);
        return {ids.data, ids.size};
    }
    double score(std::size_t sentence, std::size_t rank = 0) const noexcept
    {
        return tfm_decoder_score(get(), sentence, rank);
    }
    /* Log-probability of each token of a result. */
    span<const float> token_scores(std::size_t sentence, std::size_t rank = 0) const noexcept
    {
        std::size_t n = 0;
        const float *data = tfm_decoder_token_scores(get(), sentence, rank, &n);
        return {data, n};
    }
    /* How a result is aligned with its source; unit: TFM_ALIGNMENT_TOKENS, _WORDS. Without data when there is none. */
    matrix alignment(std::size_t sentence, std::size_t rank = 0, std::uint32_t unit = TFM_ALIGNMENT_WORDS) const noexcept
    {
        matrix out{};
        out.data = tfm_decoder_alignment(get(), sentence, rank, unit, &out.rows, &out.cols);
        return out;
    }
    std::uint32_t steps(std::size_t sentence) const noexcept { return tfm_decoder_steps(get(), sentence); }
    /* false: the longest output cut it off. */
    bool finished(std::size_t sentence, std::size_t rank = 0) const noexcept
    {
        return tfm_decoder_finished(get(), sentence, rank) != 0;
    }
    /* 1, or more when the line was too long and split. */
    std::size_t parts(std::size_t sentence) const noexcept { return tfm_decoder_parts(get(), sentence); }

    void logprobs(const texts &sources, const texts &targets) { call_pairs(tfm_decoder_logprobs, sources, targets); }
    void logprobs_ids(const id_lists &sources, const id_lists &targets)
    {
        call_pairs(tfm_decoder_logprobs_ids, sources, targets);
    }
    /* Results of the last logprobs call. */
    span<const float> token_logprobs(std::size_t pair) const noexcept
    {
        std::size_t n = 0;
        const float *data = tfm_decoder_token_logprobs(get(), pair, &n);
        return {data, n};
    }
    double pair_logprob(std::size_t pair) const noexcept { return tfm_decoder_pair_logprob(get(), pair); }
    matrix pair_alignment(std::size_t pair, std::uint32_t unit = TFM_ALIGNMENT_WORDS) const noexcept
    {
        matrix out{};
        out.data = tfm_decoder_pair_alignment(get(), pair, unit, &out.rows, &out.cols);
        return out;
    }

    /* kind: TFM_ATTENTION_*. */
    matrix attention(ids_view source, ids_view target, std::uint32_t kind, std::uint32_t layer, std::uint32_t head)
    {
        matrix out{};
        detail::call(tfm_decoder_attention, &out.data, &out.rows, &out.cols, get(), detail::lend(source),
                     detail::lend(target), kind, layer, head);
        return out;
    }

    /* The same of every layer and head, lent until the decoder's next call. */
    attention_weights attention(ids_view source, ids_view target, std::uint32_t kind)
    {
        attention_weights out{};
        detail::call(tfm_decoder_attention_all, &out.data, out.shape, get(), detail::lend(source), detail::lend(target), kind);
        return out;
    }

    std::vector<tfm_profile_entry> profile() const
    {
        return detail::profile(get(), tfm_decoder_profile_count, tfm_decoder_profile_at);
    }

private:
    decoder() : hooks_(std::make_unique<detail::hooks>()) {}

    template <class F, class... Args> void call(F *function, Args... args)
    {
        detail::require(owner_ != nullptr, "the decoder was moved away");
        detail::call_back(hooks_->thrown, function, get(), args...);
    }
    struct listeners {
        detail::carrier &thrown;
        sentence_function sentence;
        partial_function partial;
    };
    static std::int32_t on_sentence(void *user, const tfm_decoder *, std::size_t sentence) noexcept
    {
        listeners &own = *static_cast<listeners *>(user);
        return own.thrown.run([&] { return own.sentence(sentence); });
    }
    static std::int32_t on_partial(void *user, const tfm_partial *p) noexcept
    {
        listeners &own = *static_cast<listeners *>(user);
        return own.thrown.run([&] {
            return own.partial(p->sentence, detail::view(p->text), ids_view(p->ids.data, p->ids.size));
        });
    }
    static tfm_request request(std::size_t sources, std::size_t others, const char *name = "prefixes")
    {
        tfm_request r;
        detail::require_equal(sources, "sources", others, name);
        tfm_request_init(&r, sizeof r);
        r.n = sources;
        return r;
    }
    /* The items of all lines one behind the other. */
    template <class T> struct groups {
        std::vector<std::size_t> sizes;
        std::vector<T> all;

        template <class U> explicit groups(const std::vector<std::vector<U>> &lists)
        {
            for (const auto &some : lists) {
                sizes.push_back(some.size());
                all.insert(all.end(), some.begin(), some.end());
            }
        }
        bool given(std::size_t lines, const char *name) const
        {
            if (!sizes.empty()) detail::require_equal(lines, "sources", sizes.size(), name);
            return !sizes.empty();
        }
        const T *times_of(const std::vector<std::size_t> &items, const char *name) const
        {
            detail::require(sizes.empty() || sizes == items, std::string(name) + " needs a number for each item");
            return sizes.empty() ? nullptr : all.data();
        }
    };
    void run_with(const texts &lines, const std::vector<std::vector<std::string>> &lists, const char *name,
                  const std::size_t *tfm_request::*n, const tfm_text *tfm_request::*items)
    {
        const groups<std::string_view> flat(lists);
        const texts all(flat.all);
        tfm_request r = request(lines.size(), lists.size(), name);
        r.lines = lines.data();
        r.*n = flat.sizes.data();
        r.*items = all.data();
        run(r);
    }
    template <class F, class Lists> void call_pairs(F *function, const Lists &sources, const Lists &targets)
    {
        detail::require_equal(sources.size(), "sources", targets.size(), "targets");
        call(function, sources.data(), targets.data(), sources.size());
    }

    std::unique_ptr<detail::hooks> hooks_;
    owner owner_;
};

/* tfm_alignment_links(): "0-0 2-1". */
inline std::string alignment_links(const matrix &weights, float threshold = 0)
{
    return detail::fill<std::string>(16 * weights.rows, [&](char *text, std::size_t capacity) {
        std::size_t size = 0;
        detail::call(tfm_alignment_links, text, capacity, &size, weights.data, weights.rows, weights.cols, threshold);
        return size;
    });
}

/* -------------------------------------------------------------------------------------------------- trainer ---- */

class trainer
{
    using owner = detail::owner<tfm_trainer, tfm_trainer_free>;

public:
    /* The model is copied. */
    explicit trainer(const tfm::model &model, const trainer_options &options = {})
        : trainer(tfm_trainer_create, model.get(), options)
    {
    }
    static trainer resume(const std::string &checkpoint, const trainer_options &options = {})
    {
        return trainer(tfm_trainer_resume, detail::c_string(checkpoint), options);
    }

    tfm_trainer *get() const noexcept { return owner_.get(); }

    tfm_data_report set_data(const texts &sources, const texts &targets)
    {
        return reported(tfm_trainer_set_data, sources, targets);
    }
    tfm_data_report set_data_ids(const id_lists &sources, const id_lists &targets)
    {
        return reported(tfm_trainer_set_data_ids, sources, targets);
    }
    void set_valid(const texts &sources, const texts &targets) { call_pairs(tfm_trainer_set_valid, sources, targets); }

    tfm_progress step()
    {
        tfm_progress out{};
        call(tfm_trainer_step, &out, sizeof out);
        return out;
    }
    /* A progress callback that returned true makes it throw TFM_E_CANCELLED. */
    void run() { call(tfm_trainer_run); }
    void save(const std::string &path) { call(tfm_trainer_save, detail::c_string(path)); }
    tfm::model model() const
    {
        tfm_model *out = nullptr;
        detail::call(tfm_trainer_model, &out, static_cast<const tfm_trainer *>(get()));
        return tfm::model(out);
    }

    std::vector<tfm_profile_entry> profile() const
    {
        return detail::profile(get(), tfm_trainer_profile_count, tfm_trainer_profile_at);
    }

private:
    template <class F, class Start>
    trainer(F *create, Start start, const trainer_options &options) : hooks_(std::make_unique<detail::hooks>())
    {
        const tfm_trainer_options c = hooks_->wire(options);
        owner_ = detail::create<owner>(hooks_->thrown, create, start, &c);
    }

    template <class F, class... Args> void call(F *function, Args... args)
    {
        detail::require(owner_ != nullptr, "the trainer was moved away");
        detail::call_back(hooks_->thrown, function, get(), args...);
    }
    template <class F, class Lists, class... Args>
    void call_pairs(F *function, const Lists &sources, const Lists &targets, Args... args)
    {
        detail::require_equal(sources.size(), "sources", targets.size(), "targets");
        call(function, sources.data(), targets.data(), sources.size(), args...);
    }
    template <class F, class Lists> tfm_data_report reported(F *function, const Lists &sources, const Lists &targets)
    {
        tfm_data_report out{};
        call_pairs(function, sources, targets, &out, sizeof out);
        return out;
    }

    std::unique_ptr<detail::hooks> hooks_;
    owner owner_;
};

/* ------------------------------------------------------------------------------------- mathematics, metrics ---- */

/* Scaled dot-product attention on buffers of the sizes that transformer.h gives; weights may be empty: not wanted. */
inline void attention(span<float> out, span<float> weights, span<const float> q, span<const float> k,
                      span<const float> v, std::size_t n_queries, std::size_t n_keys, std::size_t d_k, std::size_t d_v,
                      const attention_options &options = {})
{
    detail::require_shape("out", out.size(), n_queries, d_v);
    if (!weights.empty()) detail::require_shape("weights", weights.size(), n_queries, n_keys);
    detail::require_shape("q", q.size(), n_queries, d_k);
    detail::require_shape("k", k.size(), n_keys, d_k);
    detail::require_shape("v", v.size(), n_keys, d_v);
    detail::call(tfm_attention, out.data(), weights.empty() ? nullptr : weights.data(), q.data(), k.data(), v.data(),
                 n_queries, n_keys, d_k, d_v, &options);
}

namespace detail {

inline std::vector<const tfm_text *> columns(const texts &hyps, const std::vector<texts> &refs)
{
    std::vector<const tfm_text *> out;
    for (const texts &ref : refs) {
        require_equal(hyps.size(), "hypotheses", ref.size(), "references");
        out.push_back(ref.data());
    }
    return out;
}

inline tfm_comparison compare(const texts &baseline, const texts &hyps, const std::vector<texts> &refs, std::uint32_t metric,
                              const void *options, std::uint32_t n_samples, std::uint64_t seed)
{
    require_equal(baseline.size(), "translations of the baseline", hyps.size(), "hypotheses");
    const auto lines = columns(hyps, refs);
    tfm_comparison out;
    call(tfm_compare, &out, sizeof out, baseline.data(), hyps.data(), hyps.size(), lines.data(), lines.size(), metric, options, n_samples,
         seed);
    return out;
}

} // namespace detail

/* Each of refs holds one reference for every hypothesis; so do those below. */
inline tfm_bleu_result bleu(const texts &hyps, const std::vector<texts> &refs, const bleu_options &options = {})
{
    const auto lines = detail::columns(hyps, refs);
    tfm_bleu_result out;
    detail::call(tfm_bleu, &out, sizeof out, hyps.data(), hyps.size(), lines.data(), lines.size(), &options);
    return out;
}

inline tfm_metric_result chrf(const texts &hyps, const std::vector<texts> &refs, const chrf_options &options = {})
{
    const auto lines = detail::columns(hyps, refs);
    tfm_metric_result out;
    detail::call(tfm_chrf, &out, sizeof out, hyps.data(), hyps.size(), lines.data(), lines.size(), &options);
    return out;
}

inline tfm_metric_result ter(const texts &hyps, const std::vector<texts> &refs, const ter_options &options = {})
{
    const auto lines = detail::columns(hyps, refs);
    tfm_metric_result out;
    detail::call(tfm_ter, &out, sizeof out, hyps.data(), hyps.size(), lines.data(), lines.size(), &options);
    return out;
}

struct parseval_scores {
    tfm_parseval_result all;
    std::vector<tfm_parseval_row> rows;
};

inline parseval_scores parseval(const texts &parses, const texts &gold, const parseval_options &options = {})
{
    parseval_scores out;
    detail::require_equal(parses.size(), "parses", gold.size(), "gold trees");
    out.rows.resize(parses.size());
    detail::call(tfm_parseval, &out.all, sizeof out.all, out.rows.data(), parses.data(), gold.data(), gold.size(), &options);
    return out;
}

/* Whether hyps beat the baseline by a metric, whose options tell which it is. */
inline tfm_comparison compare(const texts &baseline, const texts &hyps, const std::vector<texts> &refs, const bleu_options &options = {},
                              std::uint32_t n_samples = 1000, std::uint64_t seed = 12345)
{
    return detail::compare(baseline, hyps, refs, TFM_METRIC_BLEU, &options, n_samples, seed);
}

inline tfm_comparison compare(const texts &baseline, const texts &hyps, const std::vector<texts> &refs, const chrf_options &options,
                              std::uint32_t n_samples = 1000, std::uint64_t seed = 12345)
{
    return detail::compare(baseline, hyps, refs, TFM_METRIC_CHRF, &options, n_samples, seed);
}

inline tfm_comparison compare(const texts &baseline, const texts &hyps, const std::vector<texts> &refs, const ter_options &options,
                              std::uint32_t n_samples = 1000, std::uint64_t seed = 12345)
{
    return detail::compare(baseline, hyps, refs, TFM_METRIC_TER, &options, n_samples, seed);
}

/* --------------------------------------------------------------------------------------- measuring, version ---- */

inline std::size_t measure_kernel_count() noexcept
{
    return tfm_measure_kernel_count();
}

inline std::size_t measure_twin_count() noexcept
{
    return tfm_measure_twin_count();
}

inline tfm_measurement measure_kernel(std::size_t kernel, std::size_t twin, const measure_options &options = {})
{
    tfm_measurement out;
    detail::call(tfm_measure_kernel, &out, sizeof out, kernel, twin, &options);
    return out;
}

inline tfm_measurement measure_product(std::size_t m, std::size_t n, std::size_t k, const measure_options &options = {})
{
    tfm_measurement out;
    detail::call(tfm_measure_product, &out, sizeof out, m, n, k, &options);
    return out;
}

/* Of the library that runs; TFM_VERSION_* are those of the header. */
inline const char *version() noexcept
{
    return tfm_version();
}

inline const char *status_name(std::int32_t status) noexcept
{
    return tfm_status_name(status);
}

} // namespace tfm
#endif
