"""What an expert could conclude from the files that are left, knowing nothing else.

The model says what went wrong and who did it; the label says so only as far as the visible lines bear it out. Where
they do not, the honest answer is an ``-unexplained`` cause without a culprit, and guesses that fit are let pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.simulate.run import Outcome
from lab.simulate.seen import Seen
from lab.simulate.system_words import XIDS
from lab.simulate.versions import Stamp

Ranks = tuple[int, ...]
TIMEOUT, MISSING, LATE = "collective-timeout-unexplained", "rank-missing-collective", "straggler-host-work"
LOST, DIED, INIT = "peer-lost-unexplained", "process-died-unexplained", "init-hang-unexplained"
ORDER, SHAPE = "collective-order-mismatch", "collective-shape-mismatch"
#: Plainly wrong unless the run is about them.
NEVER = (
    "driver-p2p-broken", "ib-transport-error", "gpu-fell-off-bus", "gpu-ecc-error", "nvlink-error", "cuda-oom",
    "host-oom-kill", "segfault", "rank-exception", ORDER, SHAPE, "ddp-unused-parameters", "port-in-use",
    "storage-failure", "job-time-limit", "preempted-or-cancelled", "peer-unreachable", "wrong-network-interface",
    "duplicate-gpu", "rendezvous-timeout", "no-failure",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The label. ``culprits``: any of these sets is right; empty means that nobody is to be named."""

    cause: str
    also_ok: tuple[str, ...] = ()
    culprits: tuple[Ranks, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def never(self) -> tuple[str, ...]:
        """What would be plainly wrong. The true cause is not, even where the lines do not show it."""
        return tuple(it for it in NEVER if it not in (self.cause, *self.also_ok, *self.hidden))


def judge(outcome: Outcome, seen: Seen) -> Verdict:
    """The label of a run."""
    return _JUDGES[outcome.run.fault](outcome, seen)


def _either(culprits: Ranks) -> tuple[Ranks, ...]:
    return ((), tuple(sorted(culprits)))


def _one(culprits: Ranks) -> tuple[Ranks, ...]:
    return (tuple(sorted(culprits)),)


def absent(outcome: Outcome, seen: Seen) -> Verdict:
    """A rank that never came, named by its counters, its good end or its own log, or because it alone is left."""
    culprit = outcome.culprits[0]
    if outcome.root is None or not seen.any("wait"):
        return _nothing_seen(seen, (MISSING, LATE))
    group, number = outcome.root
    others = seen.members(group) - {culprit}
    waiting = seen.known("wait", group=group, number=number) & others
    counters = seen.last("counters", culprit, group)
    behind = counters is not None and number is not None and (counters.number or 0) < number
    everyone = set(outcome.ranks) - set(outcome.culprits) <= seen.known("wait")
    if culprit in seen.known("finished") or (behind and waiting):
        return Verdict(MISSING, (LATE, TIMEOUT), _one((culprit,)))
    if culprit in seen.known("wait", group=group, number=number):  # it came when the others had given up
        return Verdict(TIMEOUT, (LATE, MISSING, INIT), _either((culprit,)))
    own = seen.has_file_of(culprit) or seen.speaks(culprit)
    if own and waiting and (everyone or culprit in seen.known("signalled")):
        return Verdict(MISSING, (LATE, TIMEOUT), _one((culprit,)) if everyone else _either((culprit,)))
    if own:
        return Verdict(TIMEOUT, (MISSING, LATE), _either((culprit,)))
    if everyone and not outcome.run.layout.keeps_apart:
        return Verdict(MISSING, (LATE, TIMEOUT), _either((culprit,)))
    return Verdict(TIMEOUT, (MISSING, LATE, INIT), _either((culprit,)) if everyone or waiting == others else ())


def _nothing_seen(seen: Seen, guesses: tuple[str, ...]) -> Verdict:
    """No rank is seen to wait: what is left is an excerpt of effects, or nothing."""
    if seen.any("remote-error"):
        return Verdict(LOST, (TIMEOUT, *guesses))
    return Verdict(TIMEOUT, (*guesses, LOST, DIED, INIT))


def late(outcome: Outcome, seen: Seen) -> Verdict:
    """A rank that was busy on the host: named where its own lines show the work."""
    culprit = outcome.culprits[0]
    if seen.any("host-work"):
        if culprit in seen.known("wait") and outcome.run.torch.stamp is not Stamp.DATED:
            return Verdict(LATE, (MISSING, TIMEOUT, INIT), _either((culprit,)))  # nothing tells that it came late
        told = culprit in seen.known("host-work")
        return Verdict(LATE, (MISSING,), _one((culprit,)) if told else _either((culprit,)))
    verdict = absent(outcome, seen)
    return Verdict(verdict.cause, (*verdict.also_ok, LATE), verdict.culprits)


def died(cause: str, told: tuple[str, ...], code: int | None) -> Callable[[Outcome, Seen], Verdict]:
    """A process that ended by itself. ``told``: the facts that name the reason; ``code``: its exit code."""

    def judge_death(outcome: Outcome, seen: Seen) -> Verdict:
        culprits = outcome.culprits
        known = seen.known(*told) & set(culprits)
        exits = seen.known("exit", number=code) & set(culprits) if code is not None else set()
        named = known | exits
        if seen.any(*told):
            if len(culprits) > 1:  # two failures of their own: any of them, or both
                return Verdict(cause, culprits=((), tuple(sorted(culprits)), *((it,) for it in culprits)))
            return Verdict(cause, culprits=_one(culprits) if named else _either(culprits))
        if named:
            return Verdict(DIED, (cause, LOST), _one(tuple(named)), hidden=(cause,))
        if seen.any("actor-died"):
            return Verdict(DIED, (cause, LOST, TIMEOUT), _either(culprits), hidden=(cause,))
        if seen.any("remote-error"):
            return Verdict(LOST, (DIED, TIMEOUT), _either(culprits), hidden=(cause,))
        verdict = absent(outcome, seen)
        return Verdict(TIMEOUT, (MISSING, LATE, DIED, LOST), verdict.culprits and _either(culprits), hidden=(cause,))

    return judge_death


def crashed(outcome: Outcome, seen: Seen) -> Verdict:
    """SIGSEGV in an exit code is decisive, with or without a crash report."""
    culprits = outcome.culprits
    if seen.known("exit", number=-11) & set(culprits) or seen.known("segfault") & set(culprits):
        return Verdict("segfault", culprits=_one(culprits))
    if seen.any("segfault", "kernel-segfault"):
        return Verdict("segfault", culprits=_one(culprits) if seen.pid_known(culprits[0]) else _either(culprits))
    return died("segfault", ("segfault",), -11)(outcome, seen)


def killed(outcome: Outcome, seen: Seen) -> Verdict:
    """The kernel or Slurm must say that memory was short; SIGKILL alone says nothing."""
    culprits = outcome.culprits
    if seen.any("kernel-oom", "oom-step"):
        named = seen.known("exit", number=-9) & set(culprits) or seen.pid_known(culprits[0])
        return Verdict("host-oom-kill", culprits=_one(culprits) if named else _either(culprits))
    return died("host-oom-kill", ("kernel-oom",), -9)(outcome, seen)


def mismatch(cause: str) -> Callable[[Outcome, Seen], Verdict]:
    """Two ranks in the same place with different calls; the strict minority is at fault."""

    def judge_mismatch(outcome: Outcome, seen: Seen) -> Verdict:
        culprit = outcome.culprits[0]
        group, number = outcome.root or (0, None)
        works = seen.works(group, number) if number is not None else {}
        different = {rank: value for rank, value in works.items() if rank != culprit}
        also = (ORDER, SHAPE, TIMEOUT) if not outcome.run.torch.sequence or not outcome.run.torch.sizes else (TIMEOUT,)
        if culprit not in works or not different or not outcome.run.torch.sequence:
            return Verdict(TIMEOUT, (MISSING, ORDER, SHAPE, LATE), _either((culprit,)), hidden=(cause,))
        if cause == SHAPE and not outcome.run.torch.sizes:
            return Verdict(TIMEOUT, (SHAPE, MISSING), hidden=(cause,))
        minority = len(different) > 1
        sets = _one((culprit,)) if len(different) > 2 else _either((culprit,)) if minority else ()
        return Verdict(cause, tuple(it for it in also if it != cause) if not minority else (), sets)

    return judge_mismatch


def gpu_fault(kind: str) -> Callable[[Outcome, Seen], Verdict]:
    """The kernel names the GPU; CUDA may name the fault on the rank."""
    cause, cuda = XIDS[kind][2], f"cuda-{kind}"
    decisive = cuda if kind in ("ecc", "mmu") else "xid"

    def judge_gpu(outcome: Outcome, seen: Seen) -> Verdict:
        culprits = outcome.culprits
        if seen.any("xid", decisive):
            named = seen.known(decisive) & set(culprits) or (seen.any("xid") and seen.pid_known(culprits[0]))
            return Verdict(cause, culprits=_one(culprits) if named else _either(culprits))
        if seen.any(cuda):
            named = bool((seen.known(cuda) | seen.known("exit", number=1)) & set(culprits))
            also = ("gpu-hang-or-gsp-timeout", cause, "rank-exception")
            return Verdict("cuda-error-unexplained", also, _one(culprits) if named else _either(culprits))
        if XIDS[kind][3] is None:
            return everybody_in(outcome, seen)
        return died(cause, (cuda,), 1)(outcome, seen)

    return judge_gpu


def everybody_in(outcome: Outcome, seen: Seen) -> Verdict:
    """All have entered, and nothing says why it does not go on. The first works of a job are an init hang."""
    hardware = ("gpu-hang-or-gsp-timeout", "gpu-fell-off-bus", "driver-p2p-broken", "iommu-acs-blocks-p2p")
    first = outcome.root is not None and outcome.root[1] is not None and outcome.root[1] <= 3 and outcome.fault_s < 60
    if first:
        return Verdict(INIT, (TIMEOUT, *hardware), hidden=hardware)
    every = set(outcome.ranks) <= seen.known("wait")
    return Verdict(TIMEOUT, hardware[:1] if every else (MISSING, LATE, *hardware[:1]), hidden=hardware)


def transfers(outcome: Outcome, seen: Seen) -> Verdict:
    """Two ranks that both wait for a transfer show it; one alone may as well wait for a rank that is late."""
    if len(seen.transferring()) > 1:
        return Verdict("p2p-order-deadlock", (TIMEOUT,))
    return Verdict(TIMEOUT, ("p2p-order-deadlock", MISSING, LATE))


def link(outcome: Outcome, seen: Seen) -> Verdict:
    if seen.any("ib"):
        return Verdict("ib-transport-error", (LOST,))
    if seen.any("remote-error"):
        return Verdict(LOST, ("ib-transport-error", TIMEOUT), hidden=("ib-transport-error",))
    return Verdict(TIMEOUT, (MISSING, LOST), hidden=("ib-transport-error",))


def stuck_watchdog(outcome: Outcome, seen: Seen) -> Verdict:
    culprits = outcome.culprits
    if seen.any("stuck"):
        return Verdict("watchdog-stuck-unexplained", (MISSING, TIMEOUT), _either(culprits))
    verdict = absent(outcome, seen)
    return Verdict(verdict.cause, (*verdict.also_ok, "watchdog-stuck-unexplained"), verdict.culprits)


def from_outside(cause: str, *also_ok: str) -> Callable[[Outcome, Seen], Verdict]:
    return lambda outcome, seen: Verdict(cause, also_ok)


def node(outcome: Outcome, seen: Seen) -> Verdict:
    if seen.any("node-failure"):
        return Verdict("preempted-or-cancelled", (DIED, LOST), _either(outcome.culprits))
    return died(DIED, ("node-failure",), None)(outcome, seen)


def silent(outcome: Outcome, seen: Seen) -> Verdict:
    """Nothing has failed yet; a rank that works on the host stands out, others do not."""
    if seen.any("host-work"):
        known = set(outcome.culprits) <= seen.known("host-work")
        return Verdict(LATE, (MISSING, TIMEOUT), _one(outcome.culprits) if known else _either(outcome.culprits))
    return Verdict(TIMEOUT, (MISSING, LATE, INIT, "watchdog-stuck-unexplained"), _either(outcome.culprits))


def set_up(outcome: Outcome, seen: Seen) -> Verdict:
    return Verdict(INIT, (MISSING, LATE, "rendezvous-timeout", TIMEOUT), _either(outcome.culprits))


_JUDGES: dict[str, Callable[[Outcome, Seen], Verdict]] = {
    **dict.fromkeys(("finished", "elsewhere", "skips-dp", "skips-tp", "hang-then-limit"), absent),
    **dict.fromkeys(("late-checkpoint", "late-preprocess", "late-evaluate", "late-loader"), late),
    **dict.fromkeys(("exception", "two-exceptions"), died("rank-exception", ("raised",), 1)),
    "cuda-oom": died("cuda-oom", ("oom",), 1),
    "killed": killed,
    "segfault": crashed,
    "other-op": mismatch(ORDER),
    "other-size": mismatch(SHAPE),
    "gil": stuck_watchdog,
    **dict.fromkeys(("healthy", "healthy-noise", "healthy-running"), from_outside("no-failure")),
    **dict.fromkeys(("gpu-stops", "stuck-first", "stuck-later"), everybody_in),
    **{f"xid-{kind}": gpu_fault(kind) for kind in XIDS},
    "ib-error": link,
    "p2p-order": transfers,
    "sigterm": from_outside("preempted-or-cancelled"),
    "time-limit": from_outside("job-time-limit", "preempted-or-cancelled"),
    "node-lost": node,
    "unreachable": from_outside("peer-unreachable", "wrong-network-interface"),
    "wrong-interface": from_outside("wrong-network-interface", "peer-unreachable"),
    "init-missing": set_up,
    "silent-hang": silent,
}
