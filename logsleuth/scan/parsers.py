"""Python parsers, for the few texts that one regular expression cannot read.

A parser takes the text of a gathered block and yields facts. Only the traceback, torchelastic's failure table,
nvidia-smi and collect_env need one; everything else is a pattern file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from logsleuth.model.events import Fact

Parser = Callable[[str], Iterable[Fact]]
PARSERS: Mapping[str, Parser] = {"traceback": lambda text: ()}
