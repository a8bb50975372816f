"""Plain text logs: prefilter hits -> pieces -> patterns -> events. No Python runs on a line without an anchor."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from logsleuth.catalog.spec import PatternSpec
from logsleuth.model.events import Event, Fact, Locator, PythonException
from logsleuth.model.origin import UNKNOWN, Origin
from logsleuth.model.scan import Digest
from logsleuth.model.source import Source
from logsleuth.scan.conflicts import Conflicts
from logsleuth.scan.digest import DigestBuilder
from logsleuth.scan.extract import Extract, compiled, extract_all, tells_origin
from logsleuth.scan.index import PatternIndex
from logsleuth.scan.latest import LATEST_KEPT, LATEST_PER_WINDOW, lines_of, without_the_middle
from logsleuth.scan.lines import Piece, following, piece_of, previous_line, span_at
from logsleuth.scan.parsers import PARSERS
from logsleuth.scan.rejoined import extracts_behind_prefixes, joined_extracts
from logsleuth.scan.sections import Sections
from logsleuth.scan.traceback import HEADER, is_final_line, read_traceback
from logsleuth.scan.wrapped import could_be_wrapped
from logsleuth.sources.blocks import Window, windows
from logsleuth.sources.mended import Mender
from logsleuth.sources.menders import mender_for
from logsleuth.sources.prefixes import Prefixed, read_prefix, split_segments

#: Hits of a ``count`` pattern that are read; the rest is counted.
READ_OF_COUNTED = 16
#: Failed attempts to join, per pattern and source, after which the pattern is no longer tried on joined lines.
JOIN_BUDGET = 500
TRACEBACK_LINES = 250
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")


def scan_text(source: Source, index: PatternIndex) -> tuple[list[Event], Digest]:
    """All events of a text source in its order, and its digest. Raises OSError where it cannot be read."""
    scan = _TextScan(source, index)
    with source.opener() as stream:
        for window in windows(stream):
            scan.window(window)
    return scan.finish()


class _TextScan:
    """The state of one source's scan."""

    def __init__(self, source: Source, index: PatternIndex) -> None:
        self._source = source
        self._index = index
        self._digest = DigestBuilder()
        self._events: list[Event] = []
        self._seen: set[tuple[str, int, Fact]] = set()
        self._counts: Counter[str] = Counter()
        self._joins: Counter[str] = Counter()
        self._told_before: dict[str, set[tuple[Origin, Origin]]] = {}
        self._tracebacks: dict[str, PythonException] = {}
        self._final_lines: set[int] = set()
        self._mend: Mender | None = None
        self._sections = Sections(source.origin)
        self._conflicts = Conflicts()

    def window(self, read: Window) -> None:
        """Scan the next window of the source, with the lines whole that a collector or a terminal broke."""
        if self._mend is None:
            self._mend = mender_for(read.data, self._index.vocabulary.is_one_word)
        window = self._mend(read)
        latest: dict[str, deque[int]] = {}
        for start, end, patterns, error_like in self._lines(window, latest):
            eager: list[PatternSpec] = []
            for pattern in patterns:
                if pattern.keep == "count" and self._counts[pattern.id] >= READ_OF_COUNTED:
                    self._counts[pattern.id] += 1
                else:
                    eager.append(pattern)
            if eager:
                self._read(window, piece_of(window.data, start, end), eager, error_like)
            elif error_like and not patterns and self._digest.looks_at_unknown:
                self._digest.unknown(piece_of(window.data, start, end), window.place(start))
        for pattern_id, offsets in latest.items():
            self._read_latest(window, self._index.latest[pattern_id], offsets)
        self._digest.window(window, read.base + read.hi)

    def _read_latest(self, window: Window, pattern: PatternSpec, offsets: Iterable[int]) -> None:
        """The last hits of a pattern that prints all the time, the last one first.

        Of an origin that had one in a window before, two are enough: ``without_the_middle`` would drop the others.
        """
        before = self._told_before.setdefault(pattern.id, set())
        told: dict[tuple[Origin, Origin], int] = {}
        says_who = tells_origin(pattern.regex)
        for start, end in reversed(lines_of(window.data, offsets)):
            piece = piece_of(window.data, start, end)
            segments = split_segments(piece.text)
            who = None
            if not says_who and len(segments) == 1:
                who = (read_prefix(segments[0][1]).origin, self._sections.origin_at(window.place(start)))
                if told.get(who, 0) >= LATEST_KEPT and who in before:
                    continue
            events = len(self._events)
            self._read(window, piece, [pattern], False)
            if who is not None:
                told[who] = told.get(who, 0) + len(self._events) - events
        before.update(who for who, count in told.items() if count)

    def finish(self) -> tuple[list[Event], Digest]:
        events = sorted(self._events, key=lambda event: (event.locator.start, event.pattern))
        if self._source.size is not None and self._digest.bytes_read < self._source.size:
            self._digest.flags.add("shrunk")
        if not self._digest.bytes_read:
            self._digest.flags.add("empty")
        self._digest.notes += self._conflicts.notes(self._source.name)
        digest = self._digest.build()
        digest = replace(digest, tails=(*digest.tails, *self._sections.tails()))
        return [self._with_count(event) for event in without_the_middle(events, self._index.latest)], digest

    def _lines(
        self, window: Window, latest: dict[str, deque[int]]
    ) -> Iterator[tuple[int, int, Sequence[PatternSpec], bool]]:
        """Each line that holds an anchor, once: where it begins and ends, the patterns announced in it and whether it
        looks like an error.

        Hits of ``latest-per-key`` patterns go into ``latest`` before anything is made of them: they can be on every
        line.
        """
        data, index = window.data, self._index
        start, end = 0, -1
        announced: tuple[PatternSpec, ...] = ()
        error_like = False
        for at, anchor in index.engine.find(data, window.lo, window.hi):
            if anchor == index.file_header:
                self._sections.header(window, at)
                continue
            for pattern_id in index.latest_ids[anchor]:
                if pattern_id not in latest:
                    latest[pattern_id] = deque(maxlen=LATEST_PER_WINDOW)
                latest[pattern_id].append(at)
            now = index.read_at_once[anchor]
            if not now and index.patterns_of[anchor]:
                continue
            if at >= end:
                if end >= 0:
                    yield start, end, announced, error_like
                start, end = span_at(data, at)
                announced, error_like = now, False
            elif now is not announced:
                known = {pattern.id for pattern in announced}
                announced = (*announced, *(pattern for pattern in now if pattern.id not in known))
            error_like = error_like or index.error_like[anchor] or not now
        if end >= 0:
            yield start, end, announced, error_like

    def _read(self, window: Window, piece: Piece, patterns: Iterable[PatternSpec], error_like: bool) -> None:
        segments = [text for _, text in split_segments(piece.text)]
        prefixes: dict[int, Prefixed] = {}
        read_any = False
        for pattern in patterns:
            if pattern.keep == "count":
                self._counts[pattern.id] += 1
            found = False
            for number in reversed(range(len(segments))):
                text = segments[number]
                if any(anchor in text for anchor in pattern.anchors):
                    if number not in prefixes:
                        prefixes[number] = read_prefix(text)
                    found = self._apply(window, piece, pattern, text, prefixes[number]) or found
                    if found and pattern.keep != "all":
                        break
            read_any = read_any or found
        if error_like and not read_any:
            self._digest.unknown(piece, window.place(piece.start))

    def _apply(self, window: Window, piece: Piece, pattern: PatternSpec, text: str, prefixed: Prefixed) -> bool:
        """Read one pattern in one segment; ``True`` if it yielded something."""
        if pattern.parser is not None:
            return self._parse(window, piece, pattern, text, prefixed)
        if pattern.block is not None:
            text = self._block(window, piece, pattern, text, prefixed)
        extracts = extract_all(pattern, text) or extracts_behind_prefixes(pattern, text, prefixed)
        ends_at_line_end = bool(extracts) and extracts[-1].end >= len(text.rstrip()) - 1
        lacks_its_head = bool(extracts) and not prefixed.key and extracts[0].start <= 1
        if pattern.block is None and (not extracts or ends_at_line_end or lacks_its_head):
            better = self._rejoined(window, piece, pattern, text, prefixed.key, extracts)
            if better is not None:
                extracts, head = better
                prefixed = head or prefixed
        for item in extracts:
            self._add(window, pattern, item.fact, prefixed, item.origin, piece, text)
        return bool(extracts)

    def _rejoined(
        self, window: Window, piece: Piece, pattern: PatternSpec, text: str, key: str, plain: list[Extract]
    ) -> tuple[list[Extract], Prefixed | None] | None:
        """What the pattern reads on the line joined with its neighbours, where that is more than ``plain``."""
        if pattern.keep == "latest-per-key" or self._joins[pattern.id] > JOIN_BUDGET:
            return None
        if not plain and not could_be_wrapped(window, piece, text):
            return None
        better = joined_extracts(window, piece, pattern, text, key, plain, self._index.vocabulary)
        if better is None:
            self._joins[pattern.id] += 1
        return better

    def _block(self, window: Window, piece: Piece, pattern: PatternSpec, text: str, prefixed: Prefixed) -> str:
        """The text with the following lines that belong to it."""
        assert pattern.block is not None
        member = compiled(pattern.block.member)
        end = compiled(pattern.block.end) if pattern.block.end else None
        lines = [text]
        for _, line in following(window, piece, prefixed, pattern.block.max_lines - 1):
            if end is not None and end.search(line):
                lines.append(line)
                break
            if not member.search(line):
                break
            lines.append(line)
        return "\n".join(lines)

    def _parse(self, window: Window, piece: Piece, pattern: PatternSpec, text: str, prefixed: Prefixed) -> bool:
        if pattern.parser != "traceback":
            assert pattern.parser is not None
            lines = [text, *(line for _, line in following(window, piece, prefixed, TRACEBACK_LINES))]
            facts = list(PARSERS[pattern.parser]("\n".join(lines)))
            for fact in facts:
                self._add(window, pattern, fact, prefixed, UNKNOWN, piece, text)
            return bool(facts)
        return self._traceback(window, piece, pattern, prefixed)

    def _traceback(self, window: Window, piece: Piece, pattern: PatternSpec, prefixed: Prefixed) -> bool:
        """Gather a traceback of one origin up to its exception line, and remember it for a chained one after it."""
        lines = [HEADER]
        final: Piece | None = None
        for line, text in following(window, piece, prefixed, TRACEBACK_LINES):
            if HEADER in text and len(lines) > 1 and prefixed.key:
                break
            lines.append(text)
            if is_final_line(text.strip()) and window.place(line.start) not in self._final_lines:
                final = line
                break
        fact = read_traceback(lines) if final is not None else None
        if fact is None or final is None:
            return False
        earlier = previous_line(window.data, piece.start)
        for _ in range(3):
            if earlier is None or earlier.text.strip():
                break
            earlier = previous_line(window.data, earlier.start)
        root = self._tracebacks.get(prefixed.key)
        if root is not None and earlier is not None and any(words in earlier.text for words in _CHAINED):
            fact = replace(
                fact,
                chained=True,
                root_type=root.root_type or root.type,
                root_message=root.root_message or root.message,
            )
        self._tracebacks[prefixed.key] = fact
        self._final_lines.add(window.place(final.start))
        stamped = read_prefix(final.text)
        self._add(window, pattern, fact, stamped if stamped.stamp else prefixed, UNKNOWN, final, stamped.text)
        return True

    def _add(
        self,
        window: Window,
        pattern: PatternSpec,
        fact: Fact,
        prefixed: Prefixed,
        said: Origin,
        piece: Piece,
        text: str,
    ) -> None:
        start, end = window.place(piece.start), window.place_of_end(piece.end)
        if isinstance(fact, PythonException) and fact.bare and start in self._final_lines:
            return
        key = (pattern.id, start, fact)
        if key in self._seen:
            return
        self._seen.add(key)
        given = self._sections.origin_at(start)
        self._conflicts.compare(prefixed.origin, given)
        origin = prefixed.origin if said is UNKNOWN else prefixed.origin.merged(said)
        if given is not UNKNOWN:
            origin = origin.merged(given)
        self._events.append(
            Event(
                fact=fact,
                role=pattern.role,
                pattern=pattern.id,
                origin=origin,
                locator=Locator(self._source.id, start, end, text.strip()[:2000]),
                time=prefixed.stamp,
                count=prefixed.repeated,
            )
        )

    def _with_count(self, event: Event) -> Event:
        total = self._counts.pop(event.pattern, 0)
        return replace(event, count=total) if total > max(event.count, READ_OF_COUNTED) else event
