"""A call that nothing is inlined over.

Numba compiles whatever a function calls into it once more, and whatever calls that again: the whole SM would be optimised a
dozen times over on its way up to the loop. Here the call goes to an address instead, so the SM is compiled once. It
took a quarter off LLVM's part of the first use, and costs nothing where the callee runs for microseconds.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from sims.engine import sm
from sims.engine.pointers import Pointer


def sm_run_address(running: Pointer, memory: Pointer, trace: Pointer) -> int:
    """Where the code of :func:`sm.run` lies, compiled for such arguments."""
    part, stored = dict(running.type.fields), dict(memory.type.fields)
    signature = (
        part["gpu"], trace.type, stored["packets"], stored["ports"].element, part["sms"].element, part["launch"],
        types.int64, types.boolean,
    )  # fmt: skip
    sm.run.compile(signature)  # type: ignore[attr-defined]
    overload = sm.run.overloads[signature]  # type: ignore[attr-defined]
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
    """:func:`sm.run` by its address, in Numba's calling convention."""
    arguments = gpu, trace, packets, port, sm, launch, limit, cta_waits

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention = context.call_conv
        function = convention.get_function_type(types.int64, arguments)
        result = cgutils.alloca_once(builder, ir.IntType(64))
        # Compiled code raises nothing: the status it returns and the exception it may leave here are not looked at.
        exception = cgutils.alloca_once(builder, function.args[1].pointee)
        packed = context.get_arg_packer(arguments).as_arguments(builder, values[1:])
        builder.call(builder.inttoptr(values[0], function.as_pointer()), [result, exception, *packed])
        return builder.load(result)

    return types.int64(address, *arguments), generate
