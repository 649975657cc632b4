#!/usr/bin/env python3
"""examples/experiments/trees.py: by hand, there and back, and repair of anything. Usage: check_trees.py SOURCE_ROOT [DATA]"""
import gzip
import lzma
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1])
sys.path.insert(0, str(root / "examples/experiments"))
import trees  # noqa: E402

VINYALS, T2T = trees.DIALECTS["vinyals"], trees.DIALECTS["t2t"]
JOHN = "(TOP (S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))"
FINE, LENGTH, BRACKETS = (False, False), (True, False), (False, True)


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got!r}, want {want!r}")


def symbols(line, dialect):
    return " ".join(trees.linearized(trees.read(line), dialect))


def training(*lines):
    return trees.Training(map(trees.read, lines))


def repaired(text, dialect=VINYALS, known=None, line="(TOP (A a) (B b) (C c))"):
    tree, faults = trees.restored(text.split(), trees.leaves(trees.read(line)), dialect, known)
    return trees.written(tree), tuple(faults)


# The examples of the papers, and the first trees of a treebank: no label at the root, functions, traces.
check("vinyals", symbols(JOHN, VINYALS), "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S")
check("t2t", symbols(JOHN, T2T), "S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S")
raw = "( (S-IMP (NP-SBJ=2 (-NONE- *PRO*) ) (VP (VB Note)\t(NP-1 (-LRB- -LRB-))) (X (Y (-NONE- *)))))"
check("cleaned", trees.written(trees.cleaned(trees.read(raw))), "(TOP (S (VP (VB Note) (NP (-LRB- -LRB-)))))")
check("a word of two", trees.written(trees.read("(S (NN a b))")), "(S (NN ab))")
for bad in ("", "x", "(S (A a)", "(S (A a)))", "(S (A a)) (S (B b))", "(S x (A a))", "(A a)", "(S ( (A a)))"):
    try:
        trees.read(bad)
        sys.exit(f"{bad!r} was read")
    except ValueError:
        pass

check("labels that are none", trees.written(trees.cleaned(trees.read("(TOP (=A (-X (A a))))"))), "(TOP (=A (-X (A a))))")
check("a label that is a tag", repaired("S NN NN /NN /S", T2T, training("(TOP (S (NN (NN a) (NN b))))"), "(TOP (NN a) (NN b))"),
      ("(TOP (S (NN a) (NN b)))", BRACKETS))

# Each repair by hand.
for text, want, faults in (
        ("(S XX XX XX )S", "(TOP (S (A a) (B b) (C c)))", FINE),
        ("(S XX (X XX", "(TOP (S (A a) (X (B b))) (C c))", (True, True)),
        ("(S XX (X XX XX )S", "(TOP (S (A a) (X (B b) (C c))))", BRACKETS),
        ("(S XX XX XX )X )S", "(TOP (S (A a) (B b) (C c)))", BRACKETS),
        ("(S XX )X (Y XX )Y XX )S", "(TOP (S (A a) (Y (B b)) (C c)))", BRACKETS),
        ("(S XX XX XX XX )S", "(TOP (S (A a) (B b) (C c)))", LENGTH),
        ("(S XX (X )X XX XX )S", "(TOP (S (A a) (B b) (C c)))", BRACKETS),
        ("(S XX XX XX (X XX )X )S", "(TOP (S (A a) (B b) (C c)))", LENGTH),
        (")S XX ( ) XX", "(TOP (A a) (B b) (C c))", (True, True)),
        ("", "(TOP (A a) (B b) (C c))", LENGTH),
):
    check(text, repaired(text), (want, faults))
check("without labels, what closes is a label", repaired("S A X B /X C /S", T2T), ("(TOP (S (A a) (X (B b)) (C c)))", FINE))
check("with labels, what does not close too", repaired("S A X B C /S", T2T, training("(S (X (A a) (B b) (C c)))")), ("(TOP (S (A a) (X (B b) (C c))))", BRACKETS))
check("a label that is none", repaired("S A X C /S", T2T, training("(S (A a) (X b) (C c))")), ("(TOP (S (A a) (B b) (C c)))", FINE))

# Tags find their words, whatever is missing, too many, or wrong.
KNOWN = training(*[JOHN, "(S (NP (NNP Mary)) (VP (VBD saw) (NP (NNS cats))) (. .))"] * 5)
for text, want, faults in (
        ("S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S", JOHN, FINE),
        ("S NP NNP /NP VP NP DT NN /NP /VP . /S", "(TOP (S (NP (NNP John)) (VP (NP (VBZ has) (DT a) (NN dog))) (. .)))", LENGTH),
        ("S NP NNP /NP VP VBZ NP DT DT NN /NP /VP . /S", JOHN, LENGTH),
        ("S NP DT NNP /NP VP VBZ NP NN /NP /VP . /S", "(TOP (S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))", FINE),
        ("S NP NNP /NP VP VBZ NP DT VBD /NP /VP . /S", JOHN, FINE),
        ("S NP NNP /NP VP VBZ", "(TOP (S (NP (NNP John)) (VP (VBZ has))) (DT a) (NN dog) (. .))", (True, True)),
):
    check(text, repaired(text, T2T, KNOWN, JOHN), (want, faults))


def score(pairs, tags, words):
    used = [j for j in pairs if j is not None]
    return sum(KNOWN.log_p(tag, words[j].word) for tag, j in zip(tags, pairs) if j is not None) \
        + trees.UNPAIRED * (len(tags) + len(words) - 2 * len(used))


def alignments(n, m, at=0):
    """All ways to give n tags words from at on, in their order, or none."""
    if n == 0:
        yield []
        return
    for j in [None, *range(at, m)]:
        for rest in alignments(n - 1, m, at if j is None else j + 1):
            yield [j, *rest]


rng = random.Random(2)
for _ in range(300):
    tags = [rng.choice(list(KNOWN.tags[()])) for _ in range(rng.randrange(6))]
    words = [trees.Leaf("X", rng.choice(["John", "has", "dog", "cats", ".", "new"])) for _ in range(rng.randrange(6))]
    best = max(score(pairs, tags, words) for pairs in alignments(len(tags), len(words)))
    check("the best alignment", round(score(trees.paired(tags, words, KNOWN), tags, words) - best, 9), 0)
check("a word not seen is like those that begin and end alike", KNOWN.log_p("NNS", "bats") > KNOWN.log_p("NN", "bats"), True)
check("probabilities", abs(sum(math.exp(KNOWN.log_p(tag, "dog")) for tag in (*KNOWN.tags[()], "new")) - 1) < 1e-12, True)


TAGS, WORDS = ("DT", "NN", ",", "-LRB-", "$"), ("a", "-LRB-", "é", "/")
LEAVES = " ".join(f"({tag} {word})" for tag in TAGS for word in WORDS)
LABELS = training("(TOP " + " ".join(f"({a}{b} {LEAVES})" for a in "SVXN" for b in ("", "P")) + ")")


def random_tree(rng):
    """Up to 40 words; depth as it comes; constituents of one, and chains of them."""
    top, words = trees.Node("TOP"), rng.randrange(1, 40)
    open_nodes = [top]
    while words or not open_nodes[-1].children:
        step = rng.random()
        if step < 0.4 and len(open_nodes) < 200:
            node = trees.Node(rng.choice("SVXN") + rng.choice(["", "P"]))
            open_nodes[-1].children.append(node)
            open_nodes.append(node)
        elif step < 0.75:
            open_nodes[-1].children.append(trees.Leaf(rng.choice(TAGS), rng.choice(WORDS)))
            words = max(0, words - 1)
        elif len(open_nodes) > 1 and open_nodes[-1].children:
            open_nodes.pop()
    while len(open_nodes) > 1 and open_nodes[-1].children:
        open_nodes.pop()
    return top


def check_round_trip(line, known):
    tree = trees.read(line)
    check("read and written", trees.written(tree), line)
    for dialect in (VINYALS, T2T):
        back, faults = trees.restored(trees.linearized(tree, dialect), trees.leaves(tree), dialect, known)
        check("there and back", (trees.written(back), tuple(faults)), (line, FINE))


def damaged(sequence, rng):
    """Cut, shuffled, or with symbols dropped, doubled and made up."""
    sequence = sequence[:rng.randrange(len(sequence) + 1)] if rng.random() < 0.3 else list(sequence)
    for _ in range(rng.randrange(8)):
        at = rng.randrange(len(sequence) + 1)
        sequence[at:at + rng.randrange(3)] = rng.choice([[], ["(S"], [")NP"], ["XX"], ["/S", "S"], ["(", ")", "/"], ["é", "()"], sequence[:5]])
    return rng.sample(sequence, len(sequence)) if rng.random() < 0.1 else sequence


rng = random.Random(1)
for _ in range(2000):
    tree = random_tree(rng)
    line = trees.written(tree)
    check_round_trip(line, LABELS)
    words = trees.leaves(tree)
    for name, dialect in trees.DIALECTS.items():
        got, _ = trees.restored(damaged(trees.linearized(tree, dialect), rng), words, dialect, rng.choice([None, LABELS]))
        check("words survive", trees.leaves(trees.read(trees.written(got))), words)
        for kind, what in trees.events(got):
            if kind == "open" and not what.children:
                sys.exit(f"an empty constituent: {trees.written(got)}")
deep = "(A " * 50000 + "(B b)" + ")" * 50000
check_round_trip("(TOP " + deep + ")", training("(TOP (A (B b)))"))

# The program: sets by article, and a restoration with its report.
with tempfile.TemporaryDirectory() as folder:
    tool, at = [sys.executable, str(root / "examples/experiments/trees.py")], Path(folder)

    def run(*arguments, text=""):
        done = subprocess.run([*tool, *map(str, arguments)], input=text, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else "failed: " + done.stderr

    (at / "corpus").write_text("".join(f"a{i}\t(TOP (S (A a{i}) (B b)))\n" * (i + 1) for i in range(20)))
    check("split", run("split", at / "corpus", at, "--part", 4),
          "train: 4 articles, 34 trees\nvalid: 2 articles, 20 trees\ntest: 2 articles, 30 trees\n")
    check("the test's articles", sorted({line.split()[3] for line in (at / "test.trees").open()}), ["a19)", "a9)"])
    check("words", run("words", text=JOHN + "\n"), "John has a dog .\n")
    check("words, reversed", run("words", "--reverse", text=JOHN + "\n"), ". dog a has John\n")
    (at / "two").write_text((JOHN + "\n") * 2)
    check("restore", run("restore", "--report", at / "report", at / "two", text="(S XX XX XX XX XX )S\n(S XX\n"),
          "(TOP (S (NNP John) (VBZ has) (DT a) (NN dog) (. .)))\n(TOP (S (NNP John)) (VBZ has) (DT a) (NN dog) (. .))\n")
    check("report", (at / "report").read_text(), "2\t1\t1\n")
    check("t2t", run("restore", "--dialect", "t2t", "--training", at / "two", at / "two",
                     text=2 * (run("linearize", "--dialect", "t2t", text=JOHN + "\n"))), 2 * (JOHN + "\n"))
    for text, what in (("\n\n\n", "more lines of symbols than the 2 trees of "), ("\n", "1 lines of symbols, fewer than the trees of ")):
        got = run("restore", "--report", at / "none", at / "two", text=text)
        check("restore", got[:got.find("two") + 3], f"failed: trees.py: {what}{at / 'two'}")
    check("no report of what failed", (at / "none").exists(), False)

    # What is no corpus is named, with the place.
    (at / "articles").write_text((at / "corpus").read_text().replace("(A a7)", "(A a7"))
    (at / "nine").write_text("".join(f"a{i}\t{JOHN}\n" for i in range(9)))
    (at / "words").write_text(f"a\t{JOHN}\nb {JOHN}\n")
    (at / "latin").write_bytes(b"a\t(S (A \xe9))\n")
    for name in ("not.xz", "not.gz"):
        (at / name).write_text(JOHN)
    (at / "cut.xz").write_bytes(lzma.compress(b"a\t(S (A a))\n" * 10)[:-9])
    (at / "cut.gz").write_bytes(gzip.compress(b"a\t(S (A a))\n" * 10)[:-9])
    for name, what in (("nowhere", "No such file"), ("articles", ":29: not one tree"), ("nine", "9 articles"), ("words", ":2: not an article"),
                       ("latin", "can't decode"), ("not.xz", "not supported"), ("not.gz", "Not a gzipped"), ("cut.xz", "ended before"),
                       ("cut.gz", "ended before"), ("", "directory")):
        got = run("split", at / name, at)
        if not got.startswith("failed: trees.py: ") or str(at / name) not in got or what not in got or got.count("\n") != 1:
            sys.exit(f"split of '{name}': {got!r}, want {what!r}")
    check("no tree", run("words", text=JOHN + "\nJohn\n"), "failed: trees.py: standard input:2: not one tree in brackets: John\n")
    if "invalid positive value: '0'" not in run("split", at / "corpus", at, "--part", 0):
        sys.exit("one of 0 articles")

craft = Path(sys.argv[2]) / "treebank/craft" if len(sys.argv) > 2 else Path()
n = 0
if (craft / "craft.clean.tsv.xz").exists():
    with trees.open_text(str(craft / "craft.raw.tsv.xz")) as raw_file, trees.open_text(str(craft / "craft.clean.tsv.xz")) as clean_file:
        pairs = [(a.split("\t")[1].strip(), b.split("\t")[1].strip()) for a, b in zip(raw_file, clean_file)]
    known = training(*(line for _, line in pairs[::60]))
    for before, after in pairs[::60]:
        check("CRAFT, cleaned", trees.written(trees.cleaned(trees.read(before))), after)
        check_round_trip(after, known)
        n += 1
print(f"2,000 random trees and {n} of CRAFT")
