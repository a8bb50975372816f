"""Is a word the name of a machine? Asked of path components and of ``name: `` prefixes, where nothing else tells."""

from __future__ import annotations

import re

from logsleuth.sources.late import late

#: Words that begin the names of machines, before a number or a short suffix: ``node-a``, ``gpu07``, ``h100-node-012``.
#: One digit after ``gpu`` or a model's name is a device, not a machine.
_NAMED_LIKE_HOST = late(
    r"(?:(?:gpu|cpu|hpc|k8s|aws|gcp|slurm|cluster|compute|dgx|hgx|[abh]\d00|gb\d00|mi\d{3}x?)[-_.])*"
    r"(?:(?:node|host|hostname|worker|master|compute|pod|rack|blade|dgx|hgx|nid|cn|gn|cnode|gnode|gpunode|gpuhost|algo)"
    r"(?:[-_.]?[a-z]?\d{1,6}|[-_][a-z]{1,2})|(?:gpu|[abh]\d00|gb\d00|mi\d{3}x?)[-_]?\d{2,6}|ip(?:-\d{1,3}){4})"
    r"(?:[-_.]?[a-z]\d{1,4}|-\d{1,4})*",
    re.IGNORECASE,
)
#: ``g002``, ``nid001234``, ``r12n03``: a short word with a padded or long number. Only where a host is expected.
_WORD_AND_NUMBER = late(r"(?:[a-z]{1,8}[-_]?\d{2,6}){1,3}[a-z]?|[a-z]\d{1,2}n\d{1,3}", re.IGNORECASE)
_NOT_HOSTS = late(
    r"(?:step|steps|epoch|iter|iteration|rank|cuda|eth|eno|ens|enp|ib|ibp|mlx|bond|hsn|layer|layers|stage|loss|acc|top|task|exit"
    r"|errno|error|line|pid|tid|attempt|block|fp|bf|int|uint|float|sha|md|utf|latin|py|python|cu|cuda|sm|p|v|x|run|exp|test"
    r"|train|eval|val|job|trial|version|part|chunk|shard|seed|round|try|phase|seq|work|op|page|file|img|data|batch|thread"
    r"|gloo|nccl|torch|http|https|port|col|row|fold|model|ckpt|checkpoint|proc|process|group|pg|tp|pp|dp|ep|cp|note|item)"
    r"[-_]?\d.*",
    re.IGNORECASE,
)
_IPV4 = late(r"(?:\d{1,3}\.){3}\d{1,3}")
_FULL_NAME = late(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9][a-z0-9-]*)*\.(?:local|internal|cluster|lan|com|net|org|edu|gov|io|cloud)",
    re.IGNORECASE,
)
#: Kubeflow pods: ``<job>-master-0``, ``<job>-worker-1``; JobSet: ``<job>-node-0-1-x7x2p``.
_POD = late(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?-(?:master|worker|launcher|node|head)-\d+(?:-\d+)?(?:-[a-z0-9]{5})?")


def is_pod_name(word: str) -> bool:
    """``llm-worker-1``: the pod of a distributed job. The number counts nodes, it is no rank."""
    return _POD.fullmatch(word) is not None


def names_host(word: str) -> bool:
    """Whether ``word`` clearly is a machine, anywhere: an address, a full name, ``node-a``, ``gpu07``, a pod."""
    if len(word) > 253 or not word:
        return False
    return any(form.fullmatch(word) for form in (_IPV4, _FULL_NAME, _NAMED_LIKE_HOST, _POD))


def could_name_host(word: str) -> bool:
    """Whether ``word`` is a machine where a machine is expected, as in ``g002: text`` of pdsh and clush."""
    if names_host(word):
        return True
    return _WORD_AND_NUMBER.fullmatch(word) is not None and not is_numbered_thing(word)


def is_numbered_thing(word: str) -> bool:
    """``step12``, ``eth0``, ``layer_3``, ``fp16``: a word with a number that is no machine."""
    return _NOT_HOSTS.fullmatch(word) is not None
