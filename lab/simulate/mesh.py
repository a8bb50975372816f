"""Ranks, hosts and process groups of a job, laid out as Megatron and DeviceMesh lay them out (tensor innermost)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """A process group. ``number`` is the order of its creation in the job; 0 is the default group."""

    number: int
    kind: str  # world | tp | pp | dp | fsdp
    desc: str | None
    members: tuple[int, ...]
    guid: str

    def rank_of(self, rank: int) -> int:
        """The rank inside of the group."""
        return self.members.index(rank)


@dataclass(frozen=True, slots=True)
class Mesh:
    """``groups`` in the order of creation: the position among a rank's own groups is its PG ID there."""

    kind: str
    per_host: int
    groups: tuple[Group, ...]

    @property
    def world(self) -> Group:
        return self.groups[0]

    @property
    def size(self) -> int:
        return len(self.world.members)

    @property
    def ranks(self) -> range:
        return range(self.size)

    @property
    def hosts(self) -> range:
        return range(-(-self.size // self.per_host))

    def host_of(self, rank: int) -> int:
        return rank // self.per_host

    def local_rank(self, rank: int) -> int:
        return rank % self.per_host

    def on_host(self, host: int) -> list[int]:
        return [rank for rank in self.ranks if self.host_of(rank) == host]

    def groups_of(self, rank: int) -> list[Group]:
        return [group for group in self.groups if rank in group.members]

    def pg_id(self, rank: int, group: Group) -> int:
        return self.groups_of(rank).index(group)

    def find(self, kind: str, rank: int) -> Group | None:
        """The group of this kind that ``rank`` belongs to; ``None`` where there is none, or where it is alone in it."""
        found = next((group for group in self.groups if group.kind == kind and rank in group.members), None)
        return found if found is not None and len(found.members) > 1 else None


MEGATRON = {"tp": "TENSOR_MODEL_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP", "dp": "DATA_PARALLEL_GROUP"}


def flat(world: int, per_host: int, kind: str = "ddp", described: bool = True) -> Mesh:
    """Plain data parallelism: everything in the default group. ``fsdp`` makes a mesh group over all ranks besides."""
    groups = [_group(0, "world", "default_pg" if described else None, tuple(range(world)))]
    if kind == "fsdp":
        groups.append(_group(1, "fsdp", "mesh_fsdp" if described else None, tuple(range(world))))
    return Mesh(kind, per_host, tuple(groups))


def grid(
    tp: int, dp: int, pp: int, per_host: int, *, megatron: bool, described: bool = True, hashed: bool = False
) -> Mesh:
    """A mesh of tensor, data and pipeline parallelism. ``hashed``: group names are hashes, as ``split_group`` makes."""
    world = tp * dp * pp
    lines: list[tuple[str, tuple[int, ...]]] = []
    for kind in ("dp", "tp", "pp") if megatron else ("pp", "dp", "tp"):
        if kind == "tp" and tp > 1:
            lines += [("tp", tuple(range(start, start + tp))) for start in range(0, world, tp)]
        elif kind == "dp" and dp > 1:
            lines += [
                ("dp", tuple(stage * tp * dp + lane + tp * i for i in range(dp)))
                for stage in range(pp)
                for lane in range(tp)
            ]
        elif kind == "pp" and pp > 1:
            lines += [("pp", tuple(lane + tp * dp * stage for stage in range(pp))) for lane in range(tp * dp)]
    groups = [_group(0, "world", "default_pg" if described else None, tuple(range(world)))]
    for number, (kind, members) in enumerate(lines, start=1):
        desc = (MEGATRON[kind] if megatron else f"mesh_{kind}") if described else None
        groups.append(_group(number, kind, desc, members, hashed))
    name = "-".join(kind for kind, size in (("tp", tp), ("pp", pp), ("dp", dp)) if size > 1)
    return Mesh(name, per_host, tuple(groups))


def _group(number: int, kind: str, desc: str | None, members: tuple[int, ...], hashed: bool = False) -> Group:
    text = hashlib.sha1(repr(members).encode(), usedforsecurity=False).hexdigest()
    return Group(number, kind, desc, members, text if hashed else str(number))
