#!/usr/bin/env python3
"""Draws lines as a self-contained SVG file. Usage: figure.py TITLE X_NAME Y_NAME [--linear] < TABLE > FILE.svg

TABLE has a line for each point: name, colour, solid | dashed | dots, x, y, separated by tabs; points of a name are one line, in
their order, and solid and dashed ones are named at their end. x is drawn by its logarithm to base 2, and so is y to base 10 unless
--linear. Its look is that of the pictures of 'tfm bench'.
"""
import math
import sys
from typing import Callable, Dict, List, NamedTuple, Tuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, NAME_HEIGHT = 1000, 560, 72, 300, 56, 60, 16
HEAD = ("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12' "
        "fill='#333'>\n<style>.grid{stroke:#e4e4e4;stroke-width:1}.line{fill:none;stroke-width:2}.lead{fill:none;stroke:#bbb;"
        "stroke-width:.7}</style>\n<rect width='100%%' height='100%%' fill='#fff'/>" % (WIDTH, HEIGHT, WIDTH, HEIGHT))
DASHES = {"solid": "", "dashed": " stroke-dasharray='5 4'"}

Place = Callable[[float], float]


class Series(NamedTuple):
    """A line with its name."""
    name: str
    color: str
    style: str
    points: List[Tuple[float, float]]


def read(lines: List[str]) -> List[Series]:
    """The series in the order of their first points."""
    series: Dict[str, Series] = {}
    for line in lines:
        name, color, style, x, y = line.rstrip("\n").split("\t")
        series.setdefault(name, Series(name, color, style, [])).points.append((float(x), float(y)))
    return list(series.values())


def logarithmic(low: float, high: float, start: float, end: float) -> Place:
    """Where a number is on a logarithmic axis."""
    spread = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / spread


def linear(low: float, high: float, start: float, end: float) -> Place:
    """Where a number is on a linear axis."""
    return lambda value: start + (end - start) * (value - low) / (high - low)


def powers(base: int, low: float, high: float) -> List[float]:
    """Those in a range."""
    first = math.ceil(math.log(low, base) - 1e-9)
    return [float(base) ** k for k in range(first, math.floor(math.log(high, base) + 1e-9) + 1)]


def rounds(low: float, high: float) -> List[float]:
    """About eight round numbers in a range."""
    raw = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(times for times in (1, 2, 5, 10) if times >= raw / power - 1e-9)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def grid(x: Place, y: Place, x_marks: List[float], y_marks: List[float], names: Tuple[str, str]) -> List[str]:
    """Lines with their numbers, and what the axes are."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    out = []
    for mark in x_marks:
        out.append(f"<path class='grid' d='M{x(mark):.1f} {TOP} V{bottom}'/>")
        out.append(f"<text x='{x(mark):.1f}' y='{bottom + 18}' text-anchor='middle'>{mark:g}</text>")
    for mark in y_marks:
        out.append(f"<path class='grid' d='M{LEFT} {y(mark):.1f} H{right}'/>")
        out.append(f"<text x='{LEFT - 8}' y='{y(mark) + 4:.1f}' text-anchor='end'>{mark:g}</text>")
    out.append(f"<text x='{(LEFT + right) // 2}' y='{HEIGHT - 16}' text-anchor='middle'>{escape(names[0])}</text>")
    out.append(f"<text transform='translate(20 {(TOP + bottom) // 2}) rotate(-90)' text-anchor='middle'>{escape(names[1])}</text>")
    return out


def names_of(series: List[Series], x: Place, y: Place) -> List[str]:
    """Names in a column, as near to the ends of their lines as they can be without touching."""
    ends = sorted((y(one.points[-1][1]), x(one.points[-1][0]), one) for one in series if one.style != "dots")
    heights: List[float] = []
    for wanted, _, _ in ends:
        heights.append(max(wanted, heights[-1] + NAME_HEIGHT if heights else TOP))
    over = max(0.0, (heights[-1] if heights else 0) - (HEIGHT - BOTTOM))
    right, out = WIDTH - RIGHT, []
    for place, (end_y, end_x, one) in zip((height - over for height in heights), ends):
        out.append(f"<path class='lead' d='M{end_x:.1f} {end_y:.1f} L{right + 14} {place:.1f} H{right + 20}'/>")
        out.append(f"<text x='{right + 24}' y='{place + 4:.1f}' fill='{one.color}'>{escape(one.name)}</text>")
    return out


def drawn(one: Series, x: Place, y: Place) -> str:
    """A line, or dots."""
    if one.style == "dots":
        return "\n".join(f"<circle cx='{x(a):.1f}' cy='{y(b):.1f}' r='4' fill='{one.color}'/>" for a, b in one.points)
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in one.points)
    return f"<path class='line' stroke='{one.color}'{DASHES[one.style]} d='M {path}'/>"


def figure(series: List[Series], title: str, names: Tuple[str, str], straight: bool) -> str:
    """The whole picture."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    low, high = min(ys), max(ys)
    x = logarithmic(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    if straight:
        margin = 0.1 * (high - low) or 1.0
        y = linear(low - margin, high + margin, HEIGHT - BOTTOM, TOP)
        marks = rounds(low - margin, high + margin)
    else:
        y = logarithmic(low, high, HEIGHT - BOTTOM, TOP)
        marks = powers(10, low, high)
    out = [HEAD, f"<text x='{LEFT}' y='30' font-size='16'>{escape(title)}</text>"]
    out += grid(x, y, powers(2, min(xs), max(xs)) if not straight else sorted(set(xs)), marks, names)
    out += [drawn(one, x, y) for one in series] + names_of(series, x, y)
    return "\n".join(out) + "\n</svg>\n"


def main(arguments: List[str]) -> None:
    """Standard input to standard output."""
    straight = "--linear" in arguments
    words = [a for a in arguments if a != "--linear"]
    if len(words) != 3 or words[0].startswith("-"):
        sys.exit((__doc__ or "").split("\n\n")[0])
    series = read(sys.stdin.readlines())
    if not series:
        sys.exit("figure.py: no points")
    sys.stdout.write(figure(series, words[0], (words[1], words[2]), straight))


if __name__ == "__main__":
    main(sys.argv[1:])
