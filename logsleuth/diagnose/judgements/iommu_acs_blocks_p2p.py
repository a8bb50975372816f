"""The IOMMU or PCIe access control redirects GPU-to-GPU traffic.

Concludes: iommu-acs-blocks-p2p when a hang of the first collectives comes with an IOMMU fault or warning.
Evidence: an early hang, and a kernel line of an IOMMU fault. Without it: a hypothesis beside driver-p2p-broken.
Mistaken for: driver-p2p-broken (same picture). RCCL's ``Missing "iommu=pt"`` is printed on healthy systems too.
Example: ``AMD-Vi: Event logged [IO_PAGE_FAULT`` while all ranks sit in their first all-reduce.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence
from logsleuth.diagnose.early import local_hang
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import KernelMessage
from logsleuth.model.job import JobView

CAUSE = "iommu-acs-blocks-p2p"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    hang = local_hang(job, CAUSE)
    if isinstance(hang, Passed):
        yield hang
        return
    faults = [e for e, _ in job.of(KernelMessage, what="iommu-fault")]
    if faults:
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(faults[0], "the IOMMU refused a transfer", [(hang.event, "where the job stopped")]),
        )
        return
    yield Finding(
        CAUSE,
        CAUSE,
        "low",
        evidence(hang.event, "the picture fits"),
        hypothesis=True,
        reason="with PCIe GPUs, an IOMMU or ACS that redirects P2P shows exactly this; lspci and the kernel's log tell",
    )
