"""The driver says that GPUs reach each other's memory, but the transfers never complete.

Concludes: driver-p2p-broken when the first collectives hang on one node and the text names a driver and GPU for
which that was reported.
Evidence: an early hang with nobody known to be late, together with a known-bad driver and GPU; explicit peer-access
errors are read from the cause's own file.
Mistaken for: iommu-acs-blocks-p2p (same picture; an IOMMU or ACS line tells), kernel-too-old, the barrier's device
warning.
Example: a silent hang after the set-up banner, with two RTX 3090 and driver 545.29.06 in nvidia-smi.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence
from logsleuth.diagnose.early import local_hang
from logsleuth.diagnose.known_bad import known_bad
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Transport
from logsleuth.model.job import JobView

CAUSE = "driver-p2p-broken"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    hang = local_hang(job, CAUSE)
    if isinstance(hang, Passed):
        yield hang
        return
    bad = [row for row in known_bad(job, catalog) if row.raises == CAUSE]
    p2p = [(e, "NCCL uses P2P between these GPUs") for e, f in job.of(Transport) if (f.via or "").startswith("P2P")]
    if not bad:
        reason = "exclude P2P first: every rank is in, nothing completes, and no network is needed for that"
        yield Finding(
            CAUSE, CAUSE, "low", evidence(hang.event, "the picture fits", p2p[:1]), hypothesis=True, reason=reason
        )
        return
    row = bad[0]
    gpu, driver = job.environment.first("gpu"), job.environment.first("driver")
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            row.told_by[0],
            f"known-bad combination: {row.effect}",
            [
                *((e, "part of the combination") for e in row.told_by[1:]),
                (hang.event, "where the job stopped"),
                *p2p[:1],
            ],
        ),
        summary=f"The first GPU-to-GPU transfers never complete; driver {driver} with {gpu} is known for that.",
        facts={"driver": driver, "gpu": gpu, "good": row.good},
    )
