"""How arrays and records reach compiled code: as one pointer each.

Numba passes an array as seven values and a named tuple of arrays as seven times as many, in every call: half of the time
went into pushing them. Its record fields also may all overlap, as far as LLVM knows, so each store made it load everything
again. The types here are plain pointers to NumPy's memory, and every field has a TBAA tag of its own (LLVM Language
Reference, "TBAA Metadata"): a store to one field leaves what is known of the others alone.

``struct(record)``, ``rows(array)`` and ``bundle(named_tuple)`` of such make an argument; compiled code then reads
``bundle.field[i].other_field[j]`` as it would with NumPy's own types, and the same source runs on those too. Indices are not
checked and must not be negative. The caller keeps the memory alive: a :class:`Pointer` holds on to what it was made of.
"""

import hashlib
import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import from_dtype

BYTE_POINTER = ir.IntType(8).as_pointer()
OFFSET = ir.IntType(64)
ADDRESS_BYTES = 8


class RowsType(types.Type):  # type: ignore[misc]
    """A pointer to equal elements side by side: numbers, or records with ``itemsize`` bytes each.

    ``shape`` is ``(length, ...)`` for an array inside a record, whose size is known, and ``(None,)`` for a whole array.
    """

    def __init__(self, element: types.Type, itemsize: int, shape: tuple[int | None, ...], tag: str) -> None:
        self.element, self.itemsize, self.shape, self.tag = element, itemsize, shape, tag
        super().__init__(f"Rows({element}, {itemsize}, {shape}, {tag})")


class StructType(types.Type):  # type: ignore[misc]
    """A pointer to one record of a structured dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        # The layout in full would make symbol names of kilobytes.
        self.tag = hashlib.sha256(repr((dtype.descr, dtype.itemsize)).encode()).hexdigest()[:12]
        super().__init__(f"Struct({self.tag})")

    def field(self, name: str) -> tuple[types.Type, int] | None:
        """Numba type and offset in bytes of a field; None if there is none of that name."""
        found = (self.dtype.fields or {}).get(name)
        return None if found is None else (_field_type(found[0], f"{self.tag}.{name}"), int(found[1]))


class BundleType(types.Type):  # type: ignore[misc]
    """A pointer to the addresses of several arrays and records."""

    def __init__(self, label: str, fields: tuple[tuple[str, RowsType | StructType], ...]) -> None:
        self.fields = fields
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:12]
        super().__init__(f"Bundle({label}, {digest})")


def _field_type(dtype: np.dtype[Any], tag: str) -> types.Type:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return RowsType(_field_type(base, tag), base.itemsize, shape, tag)
    return _struct_type(dtype) if dtype.fields else from_dtype(dtype)


@dataclass(frozen=True)
class Pointer:
    """An argument for compiled code."""

    type: types.Type
    address: int
    kept: Any
    """What the address points into."""


def struct(record: np.void) -> Pointer:
    """One record, such as ``array[0]`` of a structured array."""
    return Pointer(_struct_type(record.dtype), _address(record), record)


@lru_cache
def _struct_type(dtype: np.dtype[Any]) -> StructType:
    return StructType(dtype)


def rows(array: np.ndarray[Any, Any]) -> Pointer:
    """A one-dimensional array."""
    return Pointer(_rows_type(array.dtype, array.dtype.str), _address(array), array)


def bundle(parts: Any) -> Pointer:
    """A named tuple of one-dimensional arrays and records."""
    addresses = np.array([_address(part) for part in parts], np.uint64)
    kinds = tuple((part.dtype, isinstance(part, np.void)) for part in parts)
    kind = _bundle_type(type(parts).__name__, parts._fields, kinds)
    return Pointer(kind, addresses.ctypes.data, (addresses, parts))


def _address(part: Any) -> int:
    if isinstance(part, np.void):
        # Its array interface has the address too, after a description of all its fields.
        return int(np.frombuffer(part, np.uint8).ctypes.data)
    if part.ndim != 1 or not part.flags.c_contiguous:
        raise ValueError(f"an array of {part.ndim} dimensions; compiled code takes contiguous ones of one")
    return int(part.ctypes.data)


@lru_cache
def _bundle_type(label: str, names: tuple[str, ...], kinds: tuple[tuple[np.dtype[Any], bool], ...]) -> BundleType:
    """Of parts with these names and dtypes, each a record or else an array."""
    fields = zip(names, kinds, strict=True)
    return BundleType(
        label,
        tuple(
            (name, _struct_type(dtype) if is_record else _rows_type(dtype, f"{label}.{name}"))
            for name, (dtype, is_record) in fields
        ),
    )


@lru_cache
def _rows_type(dtype: np.dtype[Any], tag: str) -> RowsType:
    return RowsType(_field_type(dtype, tag), dtype.itemsize, (None,), tag)


# ---- from Python to compiled code --------------------------------------------------------------------------------------


@register_model(RowsType)
@register_model(StructType)
@register_model(BundleType)
class _PointerModel(models.OpaqueModel):  # type: ignore[misc]
    """One untyped pointer."""


@typeof_impl.register(Pointer)
def _type_of(value: Pointer, _context: Any) -> types.Type:
    return value.type


@unbox(RowsType)
@unbox(StructType)
@unbox(BundleType)
def _unbox(_type: types.Type, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(
        c.builder.inttoptr(address, BYTE_POINTER), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    )


# ---- loads and stores --------------------------------------------------------------------------------------------------


def _tagged(builder: Any, instruction: Any, tag: str) -> Any:
    module = builder.module
    root = module.add_metadata(["cascade"])
    kind = module.add_metadata([tag, root, ir.Constant(OFFSET, 0)])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, ir.Constant(OFFSET, 0)]))
    return instruction


def _is_inline(element: types.Type) -> bool:
    """Whether the value of a field is its address: records and arrays lie where they are."""
    return isinstance(element, RowsType | StructType)


def _load(context: Any, builder: Any, element: types.Type, pointer: Any, tag: str) -> Any:
    if _is_inline(element):
        return pointer
    typed = builder.bitcast(pointer, context.get_data_type(element).as_pointer())
    return _tagged(builder, builder.load(typed), tag)


def _store(context: Any, builder: Any, element: types.Type, pointer: Any, value: Any, tag: str) -> None:
    typed = builder.bitcast(pointer, context.get_data_type(element).as_pointer())
    _tagged(builder, builder.store(value, typed), tag)


def _at(builder: Any, pointer: Any, offset: Any) -> Any:
    return builder.gep(pointer, [offset], inbounds=True)


# ---- record.field ------------------------------------------------------------------------------------------------------


@infer_getattr
class _StructFields(AttributeTemplate):  # type: ignore[misc]
    key = StructType

    def generic_resolve(self, record: StructType, name: str) -> Any:
        found = record.field(name)
        return None if found is None else found[0]


@lower_getattr_generic(StructType)
def _get_field(context: Any, builder: Any, record: StructType, value: Any, name: str) -> Any:
    found = record.field(name)
    assert found is not None
    element, offset = found
    return _load(context, builder, element, _at(builder, value, ir.Constant(OFFSET, offset)), f"{record.tag}.{name}")


@lower_setattr_generic(StructType)
def _set_field(context: Any, builder: Any, types_: Any, values: Any, name: str) -> None:
    record, given = types_.args
    element, offset = record.field(name)
    value = context.cast(builder, values[1], given, element)
    _store(
        context, builder, element, _at(builder, values[0], ir.Constant(OFFSET, offset)), value, f"{record.tag}.{name}"
    )


# ---- bundle.part -------------------------------------------------------------------------------------------------------


@infer_getattr
class _BundleFields(AttributeTemplate):  # type: ignore[misc]
    key = BundleType

    def generic_resolve(self, arrays: BundleType, name: str) -> Any:
        return dict(arrays.fields).get(name)


@lower_getattr_generic(BundleType)
def _get_array(context: Any, builder: Any, arrays: BundleType, value: Any, name: str) -> Any:
    index = [field for field, _ in arrays.fields].index(name)
    pointer = _at(builder, value, ir.Constant(OFFSET, ADDRESS_BYTES * index))
    address = builder.load(builder.bitcast(pointer, BYTE_POINTER.as_pointer()))
    # Nothing moves while compiled code runs.
    address.set_metadata("invariant.load", builder.module.add_metadata([]))
    return address


# ---- rows[i], rows[i, j], len(rows) ------------------------------------------------------------------------------------


def _index_type(array: types.Type, index: types.Type) -> types.Type | None:
    """The index as 64-bit integers; None if it does not fit the array."""
    if not isinstance(array, RowsType):
        return None
    parts = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
    if len(parts) != len(array.shape) or not all(isinstance(part, types.Integer) for part in parts):
        return None
    return types.intp if len(parts) == 1 else types.UniTuple(types.intp, len(parts))


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        array, index = args
        wanted = _index_type(array, index)
        return None if wanted is None else signature(array.element, array, wanted)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        array, index, _ = args
        wanted = _index_type(array, index)
        if wanted is None or _is_inline(array.element):
            return None
        return signature(types.void, array, wanted, array.element)


def _item(builder: Any, array: RowsType, pointer: Any, index_type: types.Type, index: Any) -> Any:
    if isinstance(index_type, types.BaseTuple):
        parts = cgutils.unpack_tuple(builder, index, len(array.shape))
        place = parts[0]
        for part, length in zip(parts[1:], array.shape[1:], strict=True):
            place = builder.add(builder.mul(place, ir.Constant(OFFSET, length)), part)
    else:
        place = index
    return _at(builder, pointer, builder.mul(place, ir.Constant(OFFSET, array.itemsize)))


@lower_builtin(operator.getitem, RowsType, types.Any)
def _get_item(context: Any, builder: Any, types_: Any, values: Any) -> Any:
    array, index = types_.args
    return _load(context, builder, array.element, _item(builder, array, values[0], index, values[1]), array.tag)


@lower_builtin(operator.setitem, RowsType, types.Any, types.Any)
def _set_item(context: Any, builder: Any, types_: Any, values: Any) -> Any:
    array, index, given = types_.args
    value = context.cast(builder, values[2], given, array.element)
    _store(context, builder, array.element, _item(builder, array, values[0], index, values[1]), value, array.tag)
    return context.get_dummy_value()


@infer_global(len)
class _Length(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        (array,) = args
        return signature(types.intp, array) if isinstance(array, RowsType) and array.shape[0] is not None else None


@lower_builtin(len, RowsType)
def _length(context: Any, builder: Any, types_: Any, values: Any) -> Any:
    return ir.Constant(OFFSET, types_.args[0].shape[0])


@intrinsic  # type: ignore[misc]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Have ``array[index]`` brought to the cache, as far as it is not there. The index may be out of range."""

    def generate(context: Any, builder: Any, types_: Any, values: Any) -> Any:
        if isinstance(array, RowsType):
            integer = ir.IntType(32)
            function_type = ir.FunctionType(ir.VoidType(), [BYTE_POINTER, integer, integer, integer])
            function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
            place = builder.gep(values[0], [builder.mul(values[1], ir.Constant(OFFSET, array.itemsize))])
            builder.call(function, [place, *(integer(flag) for flag in (1, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
