"""Pickles of plain data, read by a machine that can do nothing else: no class is looked up, no function is called.

The interpreter's own unpickler is not safe on a file of unknown origin even where it is forbidden to find globals: one
opcode makes it allocate 64 GiB (a memo index), and hashing nested tuples overflows the stack. Here the memo is
a dictionary and only text and numbers are keys. Knows what PyTorch writes (protocol 2) and what Python's protocols
3 to 5 add for the same values.
"""

from __future__ import annotations

import struct
from typing import Any

from logsleuth.scan.readers.whole import UnreadableError

_BINGET, _LONG1, _MEMOIZE, _STOP = 0x68, 0x8A, 0x94, 0x2E
_MARK, _EMPTY_LIST, _EMPTY_DICT = 0x28, 0x5D, 0x7D
_APPEND, _APPENDS, _SETITEM, _SETITEMS, _TUPLE = 0x61, 0x65, 0x73, 0x75, 0x74
#: EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3: how many values they take.
_TUPLES = {0x29: 0, 0x85: 1, 0x86: 2, 0x87: 3}
_CONSTANTS: dict[int, Any] = {0x4E: None, 0x88: True, 0x89: False}
#: BININT1, BININT2, BININT, BINFLOAT.
_NUMBERS = {0x4B: struct.Struct("<B"), 0x4D: struct.Struct("<H"), 0x4A: struct.Struct("<i"), 0x47: struct.Struct(">d")}
#: BINUNICODE, SHORT_BINUNICODE: the length comes first.
_TEXTS = {0x58: struct.Struct("<I"), 0x8C: struct.Struct("<B")}
#: BINPUT, LONG_BINPUT, and LONG_BINGET.
_PUTS = {0x71: struct.Struct("<B"), 0x72: struct.Struct("<I")}
_GETS = {0x6A: struct.Struct("<I")}
#: PROTO and FRAME say nothing about values.
_IGNORED_BYTES = {0x80: 1, 0x95: 8}
#: GLOBAL, STACK_GLOBAL, INST, OBJ, NEWOBJ, NEWOBJ_EX, REDUCE, BUILD, PERSID, BINPERSID, EXT1, EXT2, EXT4.
_ASKS_FOR_CODE = frozenset(b"c\x93io\x81\x92RbPQ\x82\x83\x84")
_LONGEST_INTEGER_BYTES = 16

_REFUSED = "it is a pickle that asks for a class or a function, which plain data never does; it is refused"
_DAMAGED = "the pickle is cut off or damaged"
_OTHER_VALUES = "the pickle holds other values than text, numbers, lists and dictionaries"


def is_pickle(head: bytes) -> bool:
    """Whether bytes begin like a pickle of protocol 2 to 5."""
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def plain_value(data: bytes) -> Any:
    """The value of a pickle made of None, booleans, numbers, text, tuples, lists and dictionaries.

    Raises UnreadableError for anything else. A list may hold itself: do not walk the value blindly.
    """
    try:
        return _run(data)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError) as error:
        raise UnreadableError(_DAMAGED) from error


def _run(data: bytes) -> Any:
    """The machine: ``stack`` holds what was pushed since the last mark, ``below`` the stacks under the marks."""
    stack: list[Any] = []
    below: list[list[Any]] = []
    memo: dict[int, Any] = {}
    push, at = stack.append, 0
    while (op := data[at]) != _STOP:
        at += 1
        if op == _BINGET:  # more than half of all opcodes: frames and keys that were seen before
            push(memo[data[at]])
            at += 1
        elif op in _GETS:
            push(memo[_GETS[op].unpack_from(data, at)[0]])
            at += 4
        elif op in _PUTS:
            memo[_PUTS[op].unpack_from(data, at)[0]] = stack[-1]
            at += _PUTS[op].size
        elif op in _NUMBERS:
            push(_NUMBERS[op].unpack_from(data, at)[0])
            at += _NUMBERS[op].size
        elif op in _CONSTANTS:
            push(_CONSTANTS[op])
        elif op in _TEXTS:
            start = at + _TEXTS[op].size
            at = start + _TEXTS[op].unpack_from(data, at)[0]
            # Lone surrogates, of a file name that is no UTF-8, are written as they are.
            push(_cut(data, start, at).decode("utf-8", "surrogatepass"))
        elif op == _LONG1:
            start = at + 1
            at = start + data[at]
            if at - start > _LONGEST_INTEGER_BYTES:
                raise UnreadableError(_DAMAGED)
            push(int.from_bytes(_cut(data, start, at), "little", signed=True))
        elif op == _MEMOIZE:
            memo[len(memo)] = stack[-1]
        elif op in _IGNORED_BYTES:
            at += _IGNORED_BYTES[op]
        else:
            stack = _gather(op, stack, below)
            push = stack.append
    return stack.pop()


def _cut(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise UnreadableError(_DAMAGED)
    return data[start:end]


def _gather(op: int, stack: list[Any], below: list[list[Any]]) -> list[Any]:
    """Carry out an opcode that makes or fills a container; the stack to go on with."""
    if op == _MARK:
        below.append(stack)
        return []
    if op in (_APPENDS, _SETITEMS, _TUPLE):
        items, stack = stack, below.pop()
    elif op in (_APPEND, _SETITEM) or op in _TUPLES:
        size = _TUPLES.get(op, 1 if op == _APPEND else 2)
        if size > len(stack):
            raise UnreadableError(_DAMAGED)
        items, stack[len(stack) - size :] = stack[len(stack) - size :], []
    elif op in (_EMPTY_LIST, _EMPTY_DICT):
        stack.append([] if op == _EMPTY_LIST else {})
        return stack
    else:
        raise UnreadableError(_REFUSED if op in _ASKS_FOR_CODE else _OTHER_VALUES)
    if op in (_APPEND, _APPENDS):
        _extend(stack[-1], items)
    elif op in (_SETITEM, _SETITEMS):
        _update(stack[-1], items)
    else:
        stack.append(tuple(items))
    return stack


def _extend(target: object, items: list[Any]) -> None:
    if not isinstance(target, list):
        raise UnreadableError(_DAMAGED)
    target.extend(items)


def _update(target: object, items: list[Any]) -> None:
    keys, values = items[::2], items[1::2]
    if not isinstance(target, dict) or len(keys) != len(values) or any(type(key) not in (str, int) for key in keys):
        raise UnreadableError(_DAMAGED)
    target.update(zip(keys, values, strict=True))
