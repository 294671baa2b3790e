"""The timing class of a mnemonic that no table knows, from how SASS names its families.

SASS is systematic: ``U`` opens the uniform datapath, ``F``/``D``/``H`` the floating-point precisions, ``LD``/``ST`` a
memory space, ``MMA`` ends a matrix operation. A new architecture's instruction nearly always lands on the right unit
this way.
"""

import re

from sims.engine.isa.tables import Group

# The first pattern that matches the whole mnemonic decides.
_RULES: tuple[tuple[str, Group], ...] = (
    (r"UTC\w*MMA\w*|[A-Z]GMMA", Group.GMMA),
    (r"[A-Z]{1,2}MMA\w*|\w*TM", Group.TENSOR),  # LDTM and STTM move tensor memory
    (r"UTMALD\w*", Group.TMA_LOAD),
    (r"UTMA(ST|RED)\w*|UBLKRED\w*", Group.TMA_STORE),
    (r"U\w+|R2UR\w*|S2UR\w*|REDUX\w*|VOTEU\w*", Group.UNIFORM),
    (r"EXIT\w*", Group.EXIT),
    (r"MEMBAR\w*", Group.MEMBAR),
    (r"\w*DEPBAR", Group.INT),
    (r"LDGSTS\w*", Group.COPY_ASYNC),
    (r"LDC\w*", Group.INT),
    (r"LDG\w*", Group.LOAD_GLOBAL),
    (r"LDS\w*", Group.LOAD_SHARED),
    (r"LDL\w*", Group.LOAD_LOCAL),
    (r"LD\w*", Group.LOAD_GENERIC),
    (r"STG\w*", Group.STORE_GLOBAL),
    (r"STS\w*", Group.STORE_SHARED),
    (r"STL\w*", Group.STORE_LOCAL),
    (r"ST", Group.STORE_GENERIC),
    (r"ATOMS\w*", Group.ATOMIC_SHARED),
    (r"ATOM\w*|RED\w*", Group.ATOMIC_GLOBAL),
    (r"MUFU\w*", Group.SFU),
    (r"TEX\w*|TLD\w*|TX\w*|TMML\w*", Group.TEXTURE),
    (r"F2\w*|I2\w*|FRND\w*|FLO\w*|FENCE\w*", Group.INT),
    (r"H(ADD|FMA|SET|SETP)2\w*", Group.HALF),
    (r"F\w+|H\w+2\w*|H(ADD|FMA|MUL|MNMX)\w*|VIMNMX\w*", Group.SP),
    (r"D(ADD|FMA|MUL|SET|SETP|MNMX)\w*", Group.DP),
    (r"BR\w*|BSSY\w*|BSYNC\w*|BMOV\w*|CALL\w*|RET\w*|J[CM]\w*|WARPSYNC\w*|NANOSLEEP\w*|YIELD\w*", Group.BRANCH),
)
_COMPILED = tuple((re.compile(pattern), group) for pattern, group in _RULES)


def family_group(mnemonic: str) -> Group:
    """The group of an unknown mnemonic; the integer pipe when no family fits."""
    for pattern, group in _COMPILED:
        if pattern.fullmatch(mnemonic):
            return group
    return Group.INT
