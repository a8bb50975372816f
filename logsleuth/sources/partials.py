"""Lines that a container runtime cut at 16 KiB, joined again: of the kubelet (CRI) and of Docker's JSON files.

    2026-03-01T10:00:05.1Z stderr P the first part           {"log":"the first part","stream":"stderr","time":".."}
    2026-03-01T10:00:05.1Z stderr F  and the last            {"log":" and the last\\n","stream":"stderr","time":".."}

The parts of one stream may have lines of the other stream in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from logsleuth.sources.blocks import Window
from logsleuth.sources.mended import Mend, Mender

#: Lines of the other stream that may stand between two parts.
MOST_BETWEEN = 64
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT[0-9:.]{8,18}(?:Z|[+-]\d\d:\d\d) (?P<stream>stdout|stderr) (?P<tag>[PF])(?: |$)")
_DOCKER_LEAD = b'{"log":"'
_DOCKER_TAIL = re.compile(rb'","stream":"(?P<stream>stdout|stderr)"')


def partials_of(head: bytes) -> Mender | None:
    """What joins the cut lines of a source that begins with ``head``; ``None`` where no runtime wrote it."""
    first = head.lstrip(b"\xef\xbb\xbf\r\n")[:64]
    if _CRI.match(first):
        return join_cri
    return join_docker if first.startswith(_DOCKER_LEAD) else None


def join_cri(window: Window) -> Window:
    """``window`` with the kubelet's partial lines joined."""
    if b" P " not in window.data:
        return window
    return _joined(window, _cri_part)


def join_docker(window: Window) -> Window:
    """``window`` with Docker's entries joined of which all but the last end without a line feed."""
    return _joined(window, _docker_part)


#: Of a line: its stream, whether it goes on, where its text begins and ends, and where the line without its end ends.
_Part = tuple[bytes, bool, int, int]


def _cri_part(data: bytes, begin: int, end: int) -> _Part | None:
    match = _CRI.match(data, begin, end)
    return (match["stream"], match["tag"] == b"P", match.end(), end) if match else None


def _docker_part(data: bytes, begin: int, end: int) -> _Part | None:
    if not data.startswith(_DOCKER_LEAD, begin):
        return None
    tail = None
    # The last one: the text itself may hold the same letters, with their quotes escaped.
    at = data.rfind(b'","stream":"', begin, end)
    if at >= 0:
        tail = _DOCKER_TAIL.match(data, at, end)
    if tail is None:
        return None
    return tail["stream"], not _ends_with_newline(data, begin, at), begin + len(_DOCKER_LEAD), at


def _ends_with_newline(data: bytes, begin: int, end: int) -> bool:
    r"""Whether a JSON string ends with ``\n`` and not with a backslash and an n."""
    if data[end - 2 : end] != b"\\n":
        return False
    backslashes = 0
    while end - 2 - backslashes >= begin and data[end - 2 - backslashes : end - 1 - backslashes] == b"\\":
        backslashes += 1
    return backslashes % 2 == 1


def _lines(data: bytes) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        yield begin, end
        begin = end + 1


def _joined(window: Window, part_of: Callable[[bytes, int, int], _Part | None]) -> Window:
    data = window.data
    lines = list(_lines(data))
    parts = [part_of(data, *line) for line in lines]
    if not any(part is not None and part[1] for part in parts):
        return window
    mend = Mend(window)
    taken: set[int] = set()
    for number, (begin, end) in enumerate(lines):
        if number in taken:
            continue
        part = parts[number]
        at = begin
        last = number
        while part is not None and part[1]:
            following = _next_part(parts, last, part[0], taken)
            if following is None:
                break
            mend.add(at, part[3])
            taken.add(following)
            last, part = following, parts[following]
            assert part is not None
            at, end = part[2], lines[following][1]
        mend.add(at, min(end + 1, len(data)))
    return mend.window()


def _next_part(parts: list[_Part | None], number: int, stream: bytes, taken: set[int]) -> int | None:
    """The next line of the same stream that no other joined line took."""
    for other in range(number + 1, min(number + 1 + MOST_BETWEEN, len(parts))):
        part = parts[other]
        if part is not None and part[0] == stream and other not in taken:
            return other
    return None
