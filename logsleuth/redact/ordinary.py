"""Words that stand where a host or a user is named and identify nobody: they are not replaced everywhere."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Accounts of images, clouds and services.
ACCOUNTS = _words(
    """
    admin administrator app azureuser build builder centos circleci cloud-user coder codespace container core
    daemon debian default dev docker ec2-user fedora git gitlab-runner guest hadoop hdfs hpc jenkins jovyan k8s
    kubernetes mpi mpiuser munge nobody nvidia opc operator postgres public pytorch ray redis rocky root runner
    sagemaker-user service shared singularity slurm slurmuser spark ssm-user sudo support svc sys system systemd
    test tester travis ubuntu user users vagrant vscode work worker workspace www-data
    """
)
#: Words of the logs themselves: replaced everywhere, they would spoil the messages.
WORDS = _words(
    """
    accelerate actor apex aws azure fsdp gcp git github gitlab gpt grafana hydra kubeflow lustre megatron minio mlflow
    nemo nfs numpy prometheus s3 sglang tensorboard triton trl verl wandb
    actor agent all alloc any api apps args array attempt auto backend base batch bin block bond
    bridge broadcast bucket cache check checkpoint checkpoints client cluster cmd code collective command
    compute conda config connection controller cpu cuda cudnn data dataset datasets debug deepspeed default_pg
    detached device dist distributed dmesg docker0 done driver elastic empty end endpoint env envs error etc
    eval event example exit expandable false fatal file files gloo gpu gpus group handler head home host
    hostname hosts ib image info init input int ip ipython job jobs jupyter kernel key known lan launch launcher
    layer leader lib lightning link linux llm local localdomain localhost localhost4 localhost6 log login logs
    loss main manager master megatron memory message messages mlx5 mnt model models module mpi mpirun nan nccl
    net network new node nodes none null nvidia-smi object offline online opt out output peer pending perf pid
    pod pods pool port process processes project projects proxy python python3 queue rank ranks ray rccl rdma
    rdzv remote rendezvous request restart role run runs script self server service session set setup shared
    shell shm shutdown signal slurm slurmd slurmstepd socket source src srun standalone start stderr stdin
    stdout step store str string system task tasks tcp tensor test tests thread threads time timeout tmp
    tokenizer torch torchrun train trainer training transformers transport true type unknown unnamed update url
    usr utils value venv version virbr0 visible vllm volume waiting warn warning watchdog worker workers world
    """
)
#: Things that are counted: ``rank3``, ``cuda0``. ``gpu7`` and ``node1`` may well be machines.
_COUNTED = re.compile(
    r"(?:rank|cuda|device|eth|eno|ens|ib|mlx\d?|step|epoch|iter|iteration|layer|stage|default|trainer|tp|pp|dp|cp|ep|d)"
    r"[-_]?\d+",
    re.IGNORECASE,
)
_GPU_MODEL = re.compile(
    r"(?:a10g?|a[3-6]0|[ahbvp][18]00|h200|b[23]00|h20|l4|l40s?|t4|p40|k80|g[bh][23]00|mi\d{3}[ax]?|rtx\w*)",
    re.IGNORECASE,
)
#: Not a host although it has dots: files and versions.
_FILE = re.compile(
    r".+\.(?:py|pyx|cpp|cc|c|cu|cuh|h|hpp|so|log|txt|out|err|sh|ya?ml|json|pt|pth|gz|zip)",
    re.IGNORECASE,
)
#: Domains of public projects and clouds; a name in them is no secret.
PUBLIC_DOMAINS = _words(
    """
    amazonaws.com anaconda.com anaconda.org apache.org arxiv.org azure.com cloudflare.com debian.org docker.com
    docker.io example.com example.net example.org gcr.io ghcr.io github.com github.io githubusercontent.com
    gitlab.com google.com googleapis.com huggingface.co intel.com kernel.org kubernetes.io lightning.ai
    linux.org microsoft.com nvcr.io nvidia.com openai.com pypi.org python.org pythonhosted.org pytorch.org
    quay.io ray.io readthedocs.io stackoverflow.com ubuntu.com wandb.ai windows.net
    """
)


def identifies_nobody(word: str) -> bool:
    """Whether ``word``, found in the place of a name, is an everyday word, a device or a file."""
    lower = word.lower()
    return (
        len(word) < 2
        or not any(char.isalpha() for char in word)
        or lower in ACCOUNTS
        or lower in WORDS
        or is_public(lower)
        or any(form.fullmatch(word) for form in (_COUNTED, _GPU_MODEL, _FILE))
    )


def is_public(name: str) -> bool:
    """Whether a full name lies in a public domain: ``docs.pytorch.org``."""
    labels = name.lower().split(".")
    return any(".".join(labels[at:]) in PUBLIC_DOMAINS for at in range(len(labels) - 1))
