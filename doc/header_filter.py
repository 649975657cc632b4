#!/usr/bin/env python3
"""Turns the plain comments of transformer.h into Doxygen's. Usage: header_filter.py HEADER > FILTERED

Lines stay where they are, so that warnings name the right ones.
    /* ------ title ------ */        a group, up to the next one
    /* text */ on lines of its own   documents what follows; before macros, the heading of their block
    x; /* text */                    documents x
Within a comment, "returns TFM_...", "returns as ..." and "since 0.2" become the sections of that name; all else is literal.
"""
import re
import sys

COMMENT = re.compile(r"^(?P<before>[^\n]*?)/\*(?P<text>.*?)\*/", re.M | re.S)
RULER = re.compile(r"\n\n/\* -{4,} (.*?) -{4,} \*/\n\n")
NAMED = re.compile(r"(/\*\* @name(?:(?!\n\n).)*)\n\n", re.S)
CLOSE = "/** @} */"
END = re.compile(r"\n\n(?=#ifdef __cplusplus\n\})")


def literal(text):
    """Text in which nothing is markup; the stars that begin its lines stay, and "..." is literal anyhow."""
    plain = re.split(r'("[^"\n]*")', text)
    for i in range(0, len(plain), 2):
        escaped = re.sub(r"[\\@<>#%&]", r"\\\g<0>", plain[i])
        plain[i] = re.sub(r"(?<=\S)\*|(?<!\n )\*(?=\S)", r"\\*", escaped)
    return re.sub(r"\b(al|eq)\. ", r"\1.\\ ", "".join(plain))  # no end of a sentence


def sections(text):
    text = re.sub(r"(\* +|\. )returns (?=TFM_|as )", r"\1@return ", text)
    return re.sub(r"\bsince (\d+\.\d+)", r"@since \1", text)


class Comments:
    """Replaces one comment after the other; the first is that of the file."""

    def __init__(self, header):
        self.header = header
        self.first = True

    def replace(self, found):
        before, body = found["before"], sections(literal(found["text"]))
        if found["text"].startswith(" ---"):
            return found[0]
        if before.strip():
            return f"{before}/**<{body}*/"
        if self.first:
            self.first = False
            return f"/** @file{body}*/"
        if self.header.startswith("\n#define", found.end()):
            return f"/** @name{body}*/ /** @{{ */"
        return f"{before}/**{body}*/"


def group(found):
    name = re.sub(r"\W+", "_", found[1])
    return f"\n{CLOSE}\n/** @defgroup {name} {found[1].capitalize()} */\n/** @{{ */\n"


def filtered(header):
    header = COMMENT.sub(Comments(header).replace, header)
    header = NAMED.sub(rf"\1\n{CLOSE}\n", header)
    header = END.sub(f"\n{CLOSE}\n", RULER.sub(group, header))
    before, mark, after = header.partition(f"{CLOSE}\n/** @defgroup")  # the first group has none before it to close
    return before + mark.replace(CLOSE, "") + after


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(filtered(file.read()))
