"""The tables of a measurement in Markdown, and their place in docs/accuracy.md."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Iterable

from lab.score import Row, share

BEGIN = "<!-- numbers: begin -->"
END = "<!-- numbers: end -->"

OVERALL = {
    "strict": "names exactly the expected cause",
    "lenient": "names it or another defensible one",
    "never": "names no cause that is plainly wrong",
    "high": "is right where it says “high”",
    "fix": "a fix has the words it needs",
    "facts": "key facts are in the report",
}
ON_RANKS = {
    "ranks": "ranks right, where the logs point at some",
    "restraint": "accuses nobody, where they point at nobody",
    "innocent": "accusations that hit a rank really at fault",
}


def tables(rows: list[Row], baselines: dict[str, list[Row]], analyzer: str, torch: str) -> str:
    """All tables: overall, on ranks beside the baselines, by cause, and every case that was not strictly right."""
    parts = [
        f"{len(rows)} runs of torch {torch}, analyzed with `{analyzer}`.",
        _table(("LogSleuth", "share", "of"), [(text, *_cells(rows, key)) for key, text in OVERALL.items()]),
        _table(
            ("accused ranks", "LogSleuth", *baselines),
            [
                (text, *(" of ".join(_cells(answers, key)) for answers in (rows, *baselines.values())))
                for key, text in ON_RANKS.items()
            ],
        ),
        _table(("expected", "runs", "strict", "lenient", "answers"), _by_cause(rows)),
    ]
    wrong = [row for row in rows if not row.marks.get("lenient")]
    if wrong:
        parts.append("Not even defensible:")
        parts.append(_table(("run", "expected", "answer"), [(it.case, it.want, _answer(it)) for it in wrong]))
    return "\n\n".join(parts) + "\n"


def write_between_markers(path: pathlib.Path, content: str) -> None:
    """Replaces what stands between the two markers. Raises ValueError when the file has none."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: no line {BEGIN} followed by a line {END}")
    path.write_text(f"{before}{BEGIN}\n\n{content}\n{END}{after}", encoding="utf-8")


def _by_cause(rows: list[Row]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for want in sorted({row.want for row in rows}):
        mine = [row for row in rows if row.want == want]
        answers = Counter("no answer" if row.error else row.got for row in mine)
        told = ", ".join(f"{got} {count}" for got, count in answers.most_common())
        lines.append((want, str(len(mine)), _percent(mine, "strict"), _percent(mine, "lenient"), told))
    return lines


def _answer(row: Row) -> str:
    """The answer, or the first line of the error, short enough for a table."""
    return row.got if row.error is None else row.error.splitlines()[0][:80].replace("|", "/")


def _cells(rows: list[Row], key: str) -> tuple[str, str]:
    return _percent(rows, key), str(share(rows, key)[1])


def _percent(rows: list[Row], key: str) -> str:
    value, _ = share(rows, key)
    return "-" if value is None else f"{100 * value:.0f} %"


def _table(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *(list(row) for row in body)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
