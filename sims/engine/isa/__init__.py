"""Instruction sets: which unit a SASS opcode runs on and what it does there."""

from sims.engine.isa.classify import OpcodeClass, classify
from sims.engine.isa.tables import Group, architecture_of

__all__ = ["Group", "OpcodeClass", "architecture_of", "classify"]
