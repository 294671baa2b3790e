"""Calls that nothing is inlined over.

Numba compiles whatever a function calls into it once more, and whatever calls that again: a whole SM, or a whole memory channel,
would be optimised a dozen times over on its way up to the loop. Here the call goes to an address instead, which the GPU's record
holds, so each is compiled once. That takes a third off LLVM's part of the first use, and costs nothing where the callee runs
for microseconds.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sims.engine import channel, sm
from sims.engine.pointers import Pointer


def sm_run_address(running: Pointer, memory: Pointer, trace: Pointer) -> int:
    """Where the code of :func:`sm.run` lies, compiled for such arguments."""
    part, stored = dict(running.type.fields), dict(memory.type.fields)
    arguments = part["gpu"], trace.type, stored["packets"], stored["ports"].element, part["sms"].element, part["launch"]
    return _address_of(sm.run, *arguments, types.int64, types.boolean)


def channel_run_address(gpu: Pointer, memory: Pointer) -> int:
    """Where the code of :func:`channel.run` lies, compiled for such arguments."""
    return _address_of(channel.run, gpu.type, memory.type, types.int64, types.int64, types.int64)


def _address_of(function: Any, *signature: types.Type) -> int:
    function.compile(signature)
    overload = function.overloads[signature]
    return int(overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name))


@intrinsic  # type: ignore[misc]
def run_sm_at(
    typing_context: Any,
    address: Any,
    gpu: Any,
    trace: Any,
    packets: Any,
    port: Any,
    sm: Any,
    launch: Any,
    limit: Any,
    cta_waits: Any,
) -> Any:
    """:func:`sm.run` by its address."""
    return _call(types.int64, address, gpu, trace, packets, port, sm, launch, limit, cta_waits)


@intrinsic  # type: ignore[misc]
def run_channel_at(
    typing_context: Any, address: Any, gpu: Any, memory: Any, c: Any, first_cycle: Any, cycles: Any
) -> Any:
    """:func:`channel.run` by its address."""
    return _call(types.none, address, gpu, memory, c, first_cycle, cycles)


def _call(result: types.Type, address: types.Type, *arguments: types.Type) -> tuple[Any, Callable[..., Any]]:
    """A call in Numba's calling convention."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention = context.call_conv
        function = convention.get_function_type(result, arguments)
        # Compiled code raises nothing: the status it returns and the exception it may leave here are not looked at.
        returned, exception = (cgutils.alloca_once(builder, place.pointee) for place in function.args[:2])
        packed = context.get_arg_packer(arguments).as_arguments(builder, values[1:])
        builder.call(builder.inttoptr(values[0], function.as_pointer()), [returned, exception, *packed])
        return context.get_dummy_value() if result is types.none else builder.load(returned)

    return result(address, *arguments), generate
