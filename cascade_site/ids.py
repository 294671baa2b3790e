"""Generated ids: a prefix and 12 hex digits."""

import secrets


def run_id() -> str:
    return f"run-{secrets.token_hex(6)}"


def sim_id() -> str:
    return f"sim-{secrets.token_hex(6)}"
