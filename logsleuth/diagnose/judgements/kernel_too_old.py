"""The Linux kernel is older than a library recommends.

Concludes: kernel-too-old, contributing only: the warning is printed on every run on such a kernel, hanging or not.
Evidence: accelerate's warning, and a hang of the kind it speaks of: in the first collectives, with nobody known to
be late.
Mistaken for: broken P2P, which shows the same picture and is far more often the cause.
Example: ``Detected kernel version 5.4.0, which is below the recommended minimum of 5.5.0``.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence
from logsleuth.diagnose.early import early_hang
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import EnvFact
from logsleuth.model.job import JobView

CAUSE = "kernel-too-old"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    warned = [(e, f) for e, f in job.of(EnvFact, name="kernel", warned=True)]
    if not warned:
        yield Passed(CAUSE, "no library complained of the kernel")
        return
    if early_hang(job) is None:
        yield Passed(CAUSE, "there is no hang in the first collectives, so the warning means nothing here")
        return
    event, fact = warned[0]
    yield Finding(
        CAUSE,
        CAUSE,
        "low",
        evidence(event, "a library warns that hangs were reported on such kernels; it prints that on healthy runs too"),
        summary=f"The kernel ({fact.value}) is older than recommended; that is a hint, not proof.",
        facts={"kernel": fact.value},
        contributing=True,
    )
