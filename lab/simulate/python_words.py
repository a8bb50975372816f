"""What the Python of a rank prints when it ends: tracebacks, CUDA errors, faulthandler's report."""

from __future__ import annotations

from collections.abc import Iterator

from lab.simulate.lines import Line, Tell
from lab.simulate.scene import Scene

#: (function and code of the innermost frame, exception line)
EXCEPTIONS = (
    ("collate", "images = torch.stack(images)", (
        "RuntimeError: stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and [1, 224, "
        "224] at entry 5"
    )),
    ("__getitem__", "label = self.labels[index]", "KeyError: 'sample_0071923'"),
    ("forward", "raise ValueError(f\"loss is {loss}\")", "ValueError: loss is nan"),
    ("load_batch", "record = json.loads(line)", (
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    )),
    ("forward", "x = self.proj(x)", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (16x1024 and 768x768)"),
    ("train_step", "assert batch[\"input_ids\"].numel() > 0", "AssertionError"),
    ("__getitem__", "return self.tokens[start:end]", (
        "IndexError: index 4194304 is out of bounds for axis 0 with size 4194304"
    )),
)  # fmt: skip


def exception(scene: Scene, rank: int, at_s: float, choice: int) -> Iterator[Line]:
    """An exception of the program on one rank."""
    function, code, error = EXCEPTIONS[choice % len(EXCEPTIONS)]
    frames = [(f"{scene.folder}/data.py" if function != "forward" else f"{scene.folder}/model.py", function, code)]
    yield from traceback(scene, rank, at_s, frames, [error], "raised")


def out_of_memory(scene: Scene, rank: int, at_s: float) -> Iterator[Line]:
    """CUDA out of memory, in the version's words."""
    torch, device = scene.torch, scene.mesh.local_rank(rank)
    name = (
        "torch.OutOfMemoryError" if torch.at_least(2, 5)
        else "torch.cuda.OutOfMemoryError" if torch.at_least(1, 13)
        else "RuntimeError"
    )  # fmt: skip
    if torch.at_least(2, 1):
        text = (
            f"CUDA out of memory. Tried to allocate 2.32 GiB. GPU {device} has a total capacity of 79.15 GiB of which "
            "1.04 GiB is free. Including non-PyTorch memory, this process has 78.10 GiB memory in use. Of the "
            "allocated "
            "memory 74.92 GiB is allocated by PyTorch, and 1.61 GiB is reserved by PyTorch but unallocated. If "
            "reserved "
            "but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
            "fragmentation."
        )
    else:
        text = (
            f"CUDA out of memory. Tried to allocate 2.32 GiB (GPU {device}; 39.59 GiB total capacity; 35.02 GiB "
            f"already "
            "allocated; 1.04 GiB free; 36.71 GiB reserved in total by PyTorch) If reserved memory is >> "
            "allocated memory "
            "try setting max_split_size_mb to avoid fragmentation."
        )
    frames = [
        (
            f"{scene.folder}/model.py",
            "forward",
            "return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
        )
    ]
    yield from traceback(scene, rank, at_s, frames, [f"{name}: {text}"], "oom")


def cuda_error(scene: Scene, rank: int, at_s: float, text: str, kind: str) -> Iterator[Line]:
    """A CUDA error that the next synchronising call reports."""
    name = "torch.AcceleratorError" if scene.torch.at_least(2, 8) else "RuntimeError"
    lines = [
        f"{name}: CUDA error: {text}",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
        "might be incorrect.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
    ]
    frames = [(f"{scene.folder}/{scene.script}", "train_step", "total += loss.item()")]
    yield from traceback(scene, rank, at_s, frames, lines, kind)


def dist_error(scene: Scene, rank: int, at_s: float, lines: list[str], kind: str) -> Iterator[Line]:
    """torch.distributed raised it, in the first barrier or wrapping the model."""
    frames = [
        (f"{scene.site}/torch/distributed/c10d_logger.py", "wrapper", "return func(*args, **kwargs)"),
        (f"{scene.site}/torch/distributed/distributed_c10d.py", "barrier", "work = group.barrier(opts=opts)"),
    ]
    yield from traceback(scene, rank, at_s, frames, lines, kind)


def traceback(
    scene: Scene, rank: int, at_s: float, frames: list[tuple[str, str, str]], error: list[str], kind: str
) -> Iterator[Line]:
    """Frames of the script and ``frames``, then the error; each line is tagged with the rank where the version does."""
    texts = ["Traceback (most recent call last):"]
    main = f"{scene.folder}/{scene.script}"
    for number, (path, function, code) in enumerate(
        [(main, "<module>", "main()"), (main, "main", "train(args)"), *frames]
    ):
        texts += [f'  File "{path}", line {84 + 37 * number}, in {function}', f"    {code}"]
    tagged = scene.torch.tags_python
    for text in [*texts, *error]:
        shown = f"[rank{rank}]: {text}" if tagged else text
        tells = (Tell(kind, rank),) if text == error[0] else ()
        yield Line(at_s, shown, rank=rank, host=scene.mesh.host_of(rank), tells=tells, tagged=tagged)


def fatal_error(scene: Scene, rank: int, at_s: float) -> Iterator[Line]:
    """faulthandler's report of a segmentation fault."""
    texts = [
        "Fatal Python error: Segmentation fault",
        "",
        "Current thread 0x00007f2b8d7fe640 (most recent call first):",
        f'  File "{scene.folder}/data.py", line 121 in decode',
        f'  File "{scene.folder}/{scene.script}", line 158 in main',
    ]
    for text in texts:
        tells = (Tell("segfault", rank),) if text.startswith("Fatal") else ()
        yield Line(at_s, text, rank=rank, host=scene.mesh.host_of(rank), tells=tells)
