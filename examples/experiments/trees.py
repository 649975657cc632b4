#!/usr/bin/env python3
"""Trees as sequences of symbols and back, for parsing as translation (section 6.3 of the paper).

Usage: trees.py split CORPUS OUT [--part K]          OUT/{train,valid,test}.trees from lines "article<TAB>tree"
       trees.py words [--reverse] < TREES            the words of each, from the last to the first as Vinyals et al. had them
       trees.py linearize [--dialect D] < TREES      the symbols of each
       trees.py restore [--dialect D] [--training TREES] [--report FILE] TREES < SYMBOLS
                                                     trees over the words and tags of TREES, whatever the symbols

Dialects: vinyals (Vinyals et al. 2015): (S (NP XX )NP (VP XX )VP )S, every word being XX;
          t2t (tensor2tensor): S NP NNP /NP VP VBZ /VP /S, with the tags. Both leave out the root, TOP.
CORPUS may be .xz or .gz. The articles are numbered in their order: those that end in 9 are for the test, those in 4 for
validation, the rest for training; --part K keeps one of K training articles. Function tags and empty elements are removed.
--training tells restore which labels there are, and how words are tagged: each tag is given to the word that it fits, however
many there are. Without it, and in the dialect without tags, words and symbols are paired in their order.
"""
import argparse
import collections
import contextlib
import functools
import gzip
import lzma
import math
import re
import sys
import zlib
from typing import Counter, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, TextIO, Tuple, Union

ROOT, EMPTY, WORD = "TOP", "-NONE-", "XX"
# "(TAG WORD)", of which a few words in CRAFT have a space within; "(LABEL"; ")"; anything else.
PIECE = re.compile(r"\(\s*([^\s()]+)\s+([^\s()][^()]*)\)|\(\s*([^\s()]*)|(\))|([^\s()]+)")


class Leaf(NamedTuple):
    """A word with its tag."""
    tag: str
    word: str


class Node:
    """A constituent."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.children: List[Union["Node", Leaf]] = []


Event = Tuple[str, Union[Node, Leaf]]  # "open", "leaf" or "close"


def read(line: str) -> Node:
    """The tree of a line in brackets; a root without label is TOP."""
    line = line.strip()
    root = Node("")
    open_nodes = [root]
    for tag, word, label, close, other in PIECE.findall(line):
        if word:
            open_nodes[-1].children.append(Leaf(tag, "".join(word.split())))
        elif other or close and len(open_nodes) == 1:
            raise ValueError(f"not one tree in brackets: {line[:60]}")
        elif close:
            open_nodes.pop()
        elif not label and len(open_nodes) > 1:
            raise ValueError(f"a bracket within the tree has no label: {line[:60]}")
        else:
            node = Node(label)
            open_nodes[-1].children.append(node)
            open_nodes.append(node)
    if len(open_nodes) != 1 or len(root.children) != 1 or not isinstance(root.children[0], Node):
        raise ValueError(f"not one tree in brackets: {line[:60]}")
    root.children[0].label = root.children[0].label or ROOT
    return root.children[0]


def events(tree: Node) -> Iterator[Event]:
    """What opens, stands and closes, from left to right. Without recursion: trees may be deep."""
    todo: List[Event] = [("open", tree)]
    while todo:
        kind, what = todo.pop()
        yield kind, what
        if kind == "open" and isinstance(what, Node):
            todo.append(("close", what))
            todo += [("leaf" if isinstance(child, Leaf) else "open", child) for child in reversed(what.children)]


def written(tree: Node) -> str:
    """The tree in brackets."""
    pieces = []
    for kind, what in events(tree):
        if isinstance(what, Leaf):
            pieces.append(f" ({what.tag} {what.word})")
        else:
            pieces.append(f" ({what.label}" if kind == "open" else ")")
    return "".join(pieces).strip()


def leaves(tree: Node) -> List[Leaf]:
    """The words, from left to right."""
    return [what for kind, what in events(tree) if isinstance(what, Leaf)]


def cleaned(tree: Node) -> Node:
    """The tree without empty elements, what holds nothing else, and functions: NP-SBJ and NP=2 are NP."""
    root = Node("")
    open_nodes = [root]
    for kind, what in events(tree):
        if isinstance(what, Leaf):
            if what.tag != EMPTY:
                open_nodes[-1].children.append(what)
        elif kind == "open":
            open_nodes.append(Node(re.split("[-=]", what.label)[0] or what.label))
        else:
            node = open_nodes.pop()
            if node.children:
                open_nodes[-1].children.append(node)
    if not root.children:
        return Node(ROOT)
    top = root.children[0]
    assert isinstance(top, Node)
    return top


# ------------------------------------------------------------------------------------------------ dialects ----


class Dialect(NamedTuple):
    """How a constituent opens and closes, and whether words are symbols of their own."""
    opening: str
    closing: str
    tags: bool


DIALECTS = {"vinyals": Dialect("(", ")", False), "t2t": Dialect("", "/", True)}


def linearized(tree: Node, dialect: Dialect) -> List[str]:
    """The symbols of what the root holds."""
    symbols = []
    for kind, what in events(tree):
        if isinstance(what, Leaf):
            symbols.append(what.tag if dialect.tags else WORD)
        elif what is not tree:
            symbols.append((dialect.opening if kind == "open" else dialect.closing) + what.label)
    return symbols


class Faults(NamedTuple):
    """What was wrong with a sequence before it was repaired."""
    length: bool   # not as many words as the sentence
    brackets: bool  # not properly nested, or nothing within


class Training:
    """What the trees of the training tell: the labels of constituents, and how words are tagged."""
    prior = 2.0  # words seen this often count as much as what is known of their kind

    def __init__(self, trees: Iterable[Node]) -> None:
        self.labels: Set[str] = set()
        self.tags: Dict[Tuple[str, ...], Counter[str]] = collections.defaultdict(collections.Counter)
        for tree in trees:
            for _, what in events(tree):
                if isinstance(what, Node):
                    self.labels.add(what.label)
                    continue
                for kind in self.kinds(what.word):
                    self.tags[kind][what.tag] += 1
        self.labels -= set(self.tags[()])  # what is a tag, too, is taken for one

    @staticmethod
    def kinds(word: str) -> List[Tuple[str, ...]]:
        """All words; those that begin and end alike; this one."""
        first = "A" if word[0].isupper() else "0" if word[0].isdigit() else "a"
        return [(), (first, word[-3:].lower()), ("word", word, "")]

    @functools.lru_cache(maxsize=None)
    def log_p(self, tag: str, word: str) -> float:
        """Logarithm of the tag's probability, given the word."""
        p = 1 / (len(self.tags[()]) + 1)
        for kind in self.kinds(word):
            seen = self.tags.get(kind, collections.Counter())
            p = (seen[tag] + self.prior * p) / (sum(seen.values()) + self.prior)
        return math.log(p)


UNPAIRED = -6.0  # for a tag without a word or a word without a tag, beside logarithms of probabilities


def paired(tags: List[str], words: List[Leaf], training: Training) -> List[Optional[int]]:
    """The word of each tag, in their order: the best alignment (Needleman and Wunsch 1970)."""
    best = [UNPAIRED * j for j in range(len(words) + 1)]
    steps = []  # back from where i + 1 tags and j words are used: 0 a pair, 1 a tag alone, 2 a word alone
    for i, tag in enumerate(tags, 1):
        above, best, step = best, [UNPAIRED * i], bytearray([1])
        for j, word in enumerate(words):
            ways = above[j] + training.log_p(tag, word.word), above[j + 1] + UNPAIRED, best[j] + UNPAIRED
            best.append(max(ways))
            step.append(ways.index(best[-1]))
        steps.append(bytes(step))
    pairs: List[Optional[int]] = [None] * len(tags)
    i, j = len(tags), len(words)
    while i:
        step_back = steps[i - 1][j]
        i, j = i - (step_back != 2), j - (step_back != 1)
        if step_back == 0:
            pairs[i] = j
    return pairs


def is_label(text: str) -> bool:
    """Whether it can stand behind a bracket: a model may make up anything."""
    return bool(text) and not set(text) & set("()")


def read_symbols(symbols: Iterable[str], dialect: Dialect, labels: Optional[Set[str]]) -> Iterator[Tuple[str, str]]:
    """("open" | "close" | "leaf", label) of each symbol; in a dialect without opening brackets the labels tell."""
    symbols = list(symbols)
    if labels is None:
        labels = {s[len(dialect.closing):] for s in symbols if s.startswith(dialect.closing) and is_label(s[len(dialect.closing):])}
    for s in symbols:
        if s.startswith(dialect.closing) and is_label(s[len(dialect.closing):]):
            yield "close", s[len(dialect.closing):]
        elif s in labels if not dialect.opening else s.startswith(dialect.opening) and is_label(s[len(dialect.opening):]):
            yield "open", s[len(dialect.opening):]
        else:
            yield "leaf", s


def restored(symbols: Iterable[str], words: List[Leaf], dialect: Dialect,
             training: Optional[Training] = None) -> Tuple[Node, Faults]:
    """A tree over exactly these words, and what had to be repaired for that.

    A constituent that does not close ends with the one around it; a closing symbol of what is not open is left out, and so are words
    too many and constituents without words; a word without a tag stands beside the next that has one, and the last come under the root.
    """
    pieces = list(read_symbols(symbols, dialect, training.labels if training else None))
    tags = [label for kind, label in pieces if kind == "leaf"]
    word_of = iter(paired(tags, words, training) if training and dialect.tags else range(len(tags)))
    root = Node(ROOT)
    open_nodes = [root]
    n_open: Dict[str, int] = {}
    used = 0
    bad = any(this[0] == "open" and following[0] == "close" for this, following in zip(pieces, pieces[1:]))
    for kind, label in pieces:
        if kind == "open":
            node = Node(label)
            open_nodes[-1].children.append(node)
            open_nodes.append(node)
            n_open[label] = n_open.get(label, 0) + 1
        elif kind == "leaf":
            word = next(word_of)
            if word is not None:
                open_nodes[-1].children += words[used:word + 1]
                used = word + 1
        else:
            bad |= open_nodes[-1].label != label or len(open_nodes) == 1
            while n_open.get(label):
                closed = open_nodes.pop().label
                n_open[closed] -= 1
                if closed == label:
                    break
    bad |= len(open_nodes) != 1
    root.children += words[used:]
    return without_empty(root), Faults(len(tags) != len(words), bad)


def without_empty(tree: Node) -> Node:
    """The tree without constituents that hold no word."""
    open_nodes: List[Node] = []
    for kind, what in events(tree):
        if isinstance(what, Leaf):
            open_nodes[-1].children.append(what)
        elif kind == "open":
            open_nodes.append(Node(what.label))
        else:
            node = open_nodes.pop()
            if not open_nodes:
                return node
            if node.children:
                open_nodes[-1].children.append(node)
    return tree


# ------------------------------------------------------------------------------------------------ commands ----


@contextlib.contextmanager
def open_text(path: str) -> Iterator[TextIO]:
    """A file of text, unpacked by its name."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(path[-3:], open)
    try:
        with opener(path, "rt", encoding="utf-8") as file:  # type: ignore[operator]
            yield file
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, UnicodeDecodeError) as fault:
        raise ValueError(f"{path}: {fault}") from None


def read_at(name: str, number: int, line: str) -> Node:
    """The tree of a line, whose fault names the place."""
    try:
        return read(line)
    except ValueError as fault:
        raise ValueError(f"{name}:{number}: {fault}") from None


def trees_in(lines: Iterable[str], name: str) -> Iterator[Node]:
    """The tree of each line."""
    return (read_at(name, number, line) for number, line in enumerate(lines, 1))


def split(corpus: str, out: str, part: int) -> None:
    """Writes the three sets, and says how many trees each has."""
    articles: Dict[str, List[Tuple[int, str]]] = {}
    with open_text(corpus) as file:
        for number, line in enumerate(file, 1):
            article, tab, tree = line.partition("\t")
            if not tab:
                raise ValueError(f"{corpus}:{number}: not an article, a tab and a tree: {line[:60].rstrip()}")
            articles.setdefault(article, []).append((number, tree))
    sets: Dict[str, List[List[Tuple[int, str]]]] = {"train": [], "valid": [], "test": []}
    for index, lines in enumerate(articles.values()):
        sets[{9: "test", 4: "valid"}.get(index % 10, "train")].append(lines)
    if not sets["test"]:
        raise ValueError(f"{corpus}: {len(articles)} articles, of which none is the tenth, for the test: 10 or more are needed")
    sets["train"] = sets["train"][::part]
    for name, members in sets.items():
        trees = [cleaned(read_at(corpus, *line)) for lines in members for line in lines]
        kept = [written(tree) + "\n" for tree in trees if tree.children]
        with open(f"{out}/{name}.trees", "w", encoding="utf-8") as file:
            file.writelines(kept)
        print(f"{name}: {len(members)} articles, {len(kept)} trees")


def restore(arguments: argparse.Namespace) -> None:
    """Standard input to standard output."""
    dialect = DIALECTS[arguments.dialect]
    training = None
    if arguments.training:
        with open_text(arguments.training) as file:
            training = Training(trees_in(file, arguments.training))
    n = length = brackets = 0
    with open_text(arguments.trees) as file:
        for tree in trees_in(file, arguments.trees):
            symbols = sys.stdin.readline()
            if not symbols:
                raise ValueError(f"{n} lines of symbols, fewer than the trees of {arguments.trees}: each needs one, if only an empty one")
            restored_tree, faults = restored(symbols.split(), leaves(tree), dialect, training)
            print(written(restored_tree))
            n, length, brackets = n + 1, length + faults.length, brackets + faults.brackets
    if sys.stdin.readline():
        raise ValueError(f"more lines of symbols than the {n} trees of {arguments.trees}")
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            file.write(f"{n}\t{length}\t{brackets}\n")


def positive(text: str) -> int:
    """A number that counts something."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("Usage: ")[1])
    commands = parser.add_subparsers(dest="command", required=True)
    splitting = commands.add_parser("split")
    splitting.add_argument("corpus")
    splitting.add_argument("out")
    splitting.add_argument("--part", type=positive, default=1)
    commands.add_parser("words").add_argument("--reverse", action="store_true")
    for name in ("linearize", "restore"):
        commands.add_parser(name).add_argument("--dialect", choices=list(DIALECTS), default="vinyals")
    restoring = commands.choices["restore"]
    restoring.add_argument("--training")
    restoring.add_argument("--report")
    restoring.add_argument("trees")
    arguments = parser.parse_args()
    try:
        if arguments.command == "split":
            split(arguments.corpus, arguments.out, arguments.part)
        elif arguments.command == "restore":
            restore(arguments)
        else:
            for tree in trees_in(sys.stdin, "standard input"):
                if arguments.command == "linearize":
                    print(*linearized(tree, DIALECTS[arguments.dialect]))
                else:
                    print(*(leaf.word for leaf in leaves(tree)[::-1 if arguments.reverse else 1]))
    except (OSError, ValueError) as fault:
        sys.exit(f"trees.py: {fault}")


if __name__ == "__main__":
    main()
