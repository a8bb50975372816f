"""From stuck ranks to dead processes: watchdogs, dump signals, monitors, agents and schedulers, on a clock.

The engine says who hangs where. Here every watchdog runs out of patience at its own time, takes its process down, and
whoever started the processes reacts to the first death that it sees on its own node.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lab.simulate.engine import DEADLY, Rank, Work
from lab.simulate.happening import Happening
from lab.simulate.mesh import Mesh
from lab.simulate.versions import Torch

#: Exit codes as torchrun prints them: negative for a signal.
EXIT_CODES = {"raised": 1, "killed": -9, "crashed": -11, "finished": 0}
SIGABRT, SIGTERM, SIGKILL = -6, -15, -9


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around the ranks. ``notices_peers``: NCCL sees that a process on another host is gone."""

    launcher: str  # torchrun | srun | ray | none
    timeout_s: float
    notices_peers: bool = False
    kills_on_bad_exit: bool = True
    stubborn: bool = False  # hung workers do not end on SIGTERM
    sigterm_s: float | None = None  # somebody stops the agents
    time_limit_s: float | None = None  # Slurm stops the job
    node_lost: tuple[int, float] | None = None
    oom_step: bool = False  # Slurm reports the killed task
    link_errors: Mapping[int, float] = field(default_factory=dict)  # ranks whose InfiniBand gives up, and when


class Aftermath:
    """A discrete simulation from the engine's last state to the end of the job."""

    def __init__(
        self, mesh: Mesh, ranks: Mapping[int, Rank], torch: Torch, around: Surroundings, rng: random.Random
    ) -> None:
        self.mesh, self.ranks, self.torch, self.around, self.rng = mesh, ranks, torch, around, rng
        self.alive = set(mesh.ranks)
        self.exits: dict[int, tuple[float, int]] = {}
        self.happenings: list[Happening] = []
        self._signalled: set[int] = set()
        self._torn: set[int] = set()
        self._caught_s: dict[int, float] = {}
        self._agents = set(mesh.hosts)
        self._first_signal: int | None = None
        self._step_over = False
        self._queue: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._order = itertools.count()
        self._schedule_ends()
        self._schedule_watchdogs()

    def run(self) -> list[Happening]:
        """Everything that is printed from the fault on, in order."""
        while self._queue:
            at_s, _, act, args = heapq.heappop(self._queue)
            act(at_s, *args)
        return sorted(self.happenings, key=lambda it: it.at_s)

    # --- what is known at the start --------------------------------------------------------------------------------

    def _schedule_ends(self) -> None:
        for rank in self.ranks.values():
            if rank.left is None:
                continue
            how, at_s = rank.left
            if how in EXIT_CODES:
                delay_s = {"raised": self.rng.uniform(0.5, 2.5), "finished": 1.5}.get(how, 0.05)
                self._at(at_s + delay_s, self._die, rank.rank, EXIT_CODES[how])
            elif how == "gil":
                self._at(at_s + self.torch.heartbeat_s + 1, self._stuck, rank.rank)
        if self.around.sigterm_s is not None:
            for host in self.mesh.hosts:
                self._at(self.around.sigterm_s + 0.02 * host, self._stop_agent, host)
        if self.around.time_limit_s is not None:
            self._at(self.around.time_limit_s, self._limit)
        for broken, at_s in self.around.link_errors.items():
            stuck = list(self.ranks[broken].stuck().values())
            if stuck:
                self._at(at_s, self._async_error, stuck[0], "ib")
        if self.around.node_lost is not None:
            host, at_s = self.around.node_lost
            self._at(at_s, self._lose_node, host)

    def _schedule_watchdogs(self) -> None:
        for rank in self.ranks.values():
            if rank.left is not None and (rank.left[0] in DEADLY or rank.left[0] == "gil"):
                continue
            for work in rank.stuck().values():
                at_s = work.enqueued_s + self.around.timeout_s + self.rng.uniform(0.001, self.torch.poll_s)
                self._at(at_s, self._time_out, work)

    # --- the process itself ------------------------------------------------------------------------------------------

    def _time_out(self, at_s: float, work: Work) -> None:
        if work.rank in self.alive:
            self._say("timeout", at_s, work.rank, work=work)
            self._caught_s.setdefault(work.rank, at_s)
            self._fail(at_s, work, "timeout")

    def _async_error(self, at_s: float, work: Work, text: str = "socket") -> None:
        if work.rank in self.alive and work.rank not in self._torn:
            self._say("async-error", at_s, work.rank, work=work, text=text)
            self._fail(at_s, work, "error")

    def _fail(self, at_s: float, work: Work, reason: str) -> None:
        """A watchdog has seen a timeout or an error: it signals the others, then ends its process."""
        if work.rank in self._torn:
            return
        self._torn.add(work.rank)
        wait_s = self.rng.uniform(0.02, 0.6)
        if self.torch.dump:
            wait_s += self.torch.dump_wait_s
            self._signal(at_s, work.rank)
        self._at(at_s + wait_s, self._tear_down, work, reason)

    def _signal(self, at_s: float, source: int) -> None:
        if self._first_signal is None:
            self._first_signal = source
        if source not in self._signalled:
            self._at(at_s + self.rng.uniform(0.05, 0.4), self._receive, source, None)
        if self._store_lives():
            for rank in sorted(self.alive - self._signalled - {source}):
                self._at(at_s + self.rng.uniform(0.2, 1.2), self._receive, rank, self._first_signal)

    def _receive(self, at_s: float, rank: int, source: int | None) -> None:
        """The monitor thread of ``rank`` hears of it, from its own process (``source`` None) or through the store."""
        if rank not in self.alive or rank in self._signalled:
            return
        self._signalled.add(rank)
        if source is not None and rank in self._torn:
            source = None
        self._say("dump-local" if source is None else "dump-remote", at_s, rank, number=source)
        self._at(at_s + self.torch.heartbeat_s + 0.5, self._monitor_ends, rank, "timeout")

    def _tear_down(self, at_s: float, work: Work, reason: str) -> None:
        if work.rank in self.alive:
            ran_ms = int(1000 * (self._caught_s.get(work.rank, at_s) - work.enqueued_s))
            self._say("teardown", at_s, work.rank, work=work, text=reason, number=ran_ms)
            self._at(at_s + self.rng.uniform(0.1, 0.9), self._die, work.rank, SIGABRT)

    def _stuck(self, at_s: float, rank: int) -> None:
        if rank in self.alive:
            self._say("watchdog-stuck", at_s, rank)
            wait_s = self.torch.heartbeat_s if self.torch.status.value in ("failure", "started") else 1.0
            self._at(at_s + wait_s, self._monitor_ends, rank, "hang")

    def _monitor_ends(self, at_s: float, rank: int, reason: str) -> None:
        if rank in self.alive:
            self._say("monitor-kill", at_s, rank, text=reason)
            self._at(at_s + 0.2, self._die, rank, SIGABRT)

    def _die(self, at_s: float, rank: int, code: int) -> None:
        if rank not in self.alive:
            return
        self.alive.discard(rank)
        self.exits[rank] = (at_s, code)
        self._say("died" if code else "ended", at_s, rank, number=code)
        if code:
            self._tell_peers(at_s, rank)
            self._tell_launcher(at_s, rank, code)

    def _tell_peers(self, at_s: float, dead: int) -> None:
        """Ranks of other hosts that share a stuck group with the dead one may see its connections close."""
        if not self.around.notices_peers:
            return
        for rank in sorted(self.alive - self._torn):
            if self.mesh.host_of(rank) == self.mesh.host_of(dead):
                continue
            work = next((w for w in self.ranks[rank].stuck().values() if dead in w.call.partners), None)
            if work is not None:
                begun_s = max(at_s, work.enqueued_s)
                self._at(begun_s + self.rng.uniform(0.5, 6.0), self._async_error, work)

    # --- whoever started the processes -------------------------------------------------------------------------------

    def _tell_launcher(self, at_s: float, rank: int, code: int) -> None:
        host = self.mesh.host_of(rank)
        if self.around.launcher == "torchrun" and host in self._agents:
            self._at(at_s + self.rng.uniform(0.01, self.torch.agent_poll_s), self._agent_acts, host)
        elif self.around.launcher == "srun":
            self._say("task-exit", at_s + self.rng.uniform(0.05, 0.5), rank, number=code)
            if code == SIGKILL and self.around.oom_step:
                self._say("oom-step", at_s + 0.6, rank)
            if self.around.kills_on_bad_exit and not self._step_over:
                self._step_over = True
                self._at(at_s + self.rng.uniform(0.6, 2.0), self._cancel_step)
        elif self.around.launcher == "ray" and not self._step_over:
            self._step_over = True
            self._say("actor-died", at_s + self.rng.uniform(0.5, 2.0), rank, number=code)
            self._at(at_s + self.rng.uniform(5, 12), self._end_everybody)

    def _agent_acts(self, at_s: float, host: int) -> None:
        """The agent of a node finds dead workers: it ends the others and prints its table."""
        if host not in self._agents:
            return
        self._agents.discard(host)
        mine = self.mesh.on_host(host)
        failed = [rank for rank in mine if rank in self.exits and self.exits[rank][1]]
        living = [rank for rank in mine if rank in self.alive]
        self._say("closing", at_s, host=host, others=tuple(living))
        over_s = at_s + 0.3
        for rank in living:
            if self.around.stubborn and rank not in self._torn:
                over_s = at_s + 30.2
                self._say("forced", at_s + 30, host=host, others=(rank,))
                self._at(at_s + 30.05, self._die, rank, SIGKILL)
            else:
                self._at(at_s + self.rng.uniform(0.02, 0.2), self._die, rank, SIGTERM)
        self._say("failed", over_s, failed[0], host=host, number=self.exits[failed[0]][1])
        listed = failed + (living if self.torch.lists_terminated else [])
        self._say("table", over_s + 0.05, failed[0], host=host, others=tuple(listed), text=f"{at_s:.3f}")
        if host == 0:
            self._at(over_s + 0.2, self._lose_store)

    def _lose_store(self, at_s: float) -> None:
        """The first node's agent hosts the store: the monitors of the other nodes cannot ask it any more."""
        for rank in sorted(self.alive):
            if self.torch.dump and rank not in self._signalled and self.mesh.host_of(rank) != 0:
                self._say("store-lost", at_s + self.rng.uniform(0.05, 1.0), rank)

    def _store_lives(self) -> bool:
        return self.around.launcher != "torchrun" or 0 in self._agents

    def _stop_agent(self, at_s: float, host: int) -> None:
        if host not in self._agents:
            return
        self._agents.discard(host)
        living = tuple(rank for rank in self.mesh.on_host(host) if rank in self.alive)
        self._say("signalled", at_s, host=host, others=living)
        for rank in living:
            self._at(at_s + 0.1, self._die, rank, SIGTERM)

    def _cancel_step(self, at_s: float) -> None:
        self._say("step-cancelled", at_s)
        self._end_everybody(at_s)

    def _end_everybody(self, at_s: float) -> None:
        for rank in sorted(self.alive):
            self._at(at_s + self.rng.uniform(0.02, 0.3), self._die, rank, SIGTERM)

    def _limit(self, at_s: float) -> None:
        if self.alive:
            self._step_over = True
            self._say("time-limit", at_s)
            if self.around.launcher == "torchrun":
                for host in self.mesh.hosts:
                    self._at(at_s + 0.05, self._stop_agent, host)
            else:
                self._end_everybody(at_s)

    def _lose_node(self, at_s: float, host: int) -> None:
        """A host is gone: its processes print nothing more, and Slurm finds out minutes later."""
        self._agents.discard(host)
        for rank in self.mesh.on_host(host):
            self.alive.discard(rank)
        for rank in self.mesh.on_host(host)[:1]:
            self._tell_peers(at_s, rank)
        self._at(at_s + 300 + self.rng.uniform(0, 60), self._report_node, host)

    def _report_node(self, at_s: float, host: int) -> None:
        self._say("node-failure", at_s, host=host)
        self._step_over = True
        self._end_everybody(at_s)

    def _at(self, at_s: float, act: Callable[..., None], *args: object) -> None:
        heapq.heappush(self._queue, (at_s, next(self._order), act, args))

    def _say(
        self,
        kind: str,
        at_s: float,
        rank: int | None = None,
        *,
        host: int | None = None,
        work: Work | None = None,
        number: int | None = None,
        others: tuple[int, ...] = (),
        text: str = "",
    ) -> None:
        if host is None and rank is not None:
            host = self.mesh.host_of(rank)
        self.happenings.append(Happening(kind, at_s, rank, host, work, number, others, text))
