"""The user's own Accel-Sim, started the way it wants to be."""

import os
from pathlib import Path

from sims.gpus import GpuSpec, read_accelsim_config, to_accelsim_options
from sims.simulators.accelsim.layout import lay_out_trace
from sims.simulators.base import Command, Job, Places
from sims.simulators.software import file_digest

TRACE_LIST = "./traces/kernelslist.g"
"""With a slash: Accel-Sim takes the text before the last one as the trace's folder, and without one finds no kernel."""

CONFIG_FILES = ("gpgpusim.config", "trace.config")


class AccelSim:
    """``accel-sim.out`` in a work folder with its config files and a ``traces`` folder."""

    name = "accelsim"

    def __init__(self, places: Places) -> None:
        self._binary = Path(places.accelsim) if places.accelsim else None
        self._configs = Path(places.accelsim_configs) if places.accelsim_configs else None

    def why_not(self, spec: GpuSpec) -> str | None:
        if self._binary is None:
            return "CASCADE_ACCELSIM does not name an Accel-Sim binary."
        if not self._binary.is_file() or not os.access(self._binary, os.X_OK):
            return f"CASCADE_ACCELSIM is {self._binary}, which is no program that can be started."
        if self._configs is None or not self._configs.is_dir():
            return "CASCADE_ACCELSIM_CONFIGS does not name a folder of Accel-Sim configs."
        return None

    def software(self) -> dict[str, str]:
        """The binary's digest; which build it is, its log says."""
        return {"binary": file_digest(self._binary)} if self._binary else {}

    def prepare(self, job: Job) -> Command:
        if self._binary is None:
            raise ValueError("CASCADE_ACCELSIM does not name an Accel-Sim binary.")
        lay_out_trace(job.trace_folder / job.list_name, job.kernel_indices, job.work_folder / "traces")
        argv = [str(self._binary.resolve()), "-trace", TRACE_LIST]
        for name in self._lay_out_config(job.spec, job.work_folder):
            argv += ["-config", name]
        environment = {"LD_LIBRARY_PATH": ":".join(library_folders(self._binary))}
        return Command(argv, environment, outputs=("gpgpu_inst_stats.txt", "gpgpusim.config", "trace.config"))

    def _lay_out_config(self, spec: GpuSpec, folder: Path) -> list[str]:
        """Put the config's files into the work folder; the names to pass on.

        A config that is the user's, unchanged, is used as its files are: they may hold options that a specification
        has no field for, and name further files beside them.
        """
        own = self._configs / spec.id if self._configs else None
        if own and (own / "gpgpusim.config").is_file() and read_accelsim_config(own).spec == spec:
            for path in own.iterdir():
                if path.is_file() and not (folder / path.name).exists():
                    (folder / path.name).symlink_to(path.resolve())
        else:
            for name, text in to_accelsim_options(spec).items():
                (folder / name).write_text(text, encoding="utf-8")
        return [name for name in CONFIG_FILES if (folder / name).exists()]


def library_folders(binary: Path) -> list[str]:
    """Where an Accel-Sim build has its GPGPU-Sim libraries: they must come before a CUDA runtime of the same name.

    The build tree has them at ``gpgpu-sim/lib/gcc-VERSION/cuda-VERSION/release`` beside ``bin/release/accel-sim.out``.
    """
    found = [binary.resolve().parent]
    for parent in list(binary.resolve().parents)[:4]:
        found += sorted(parent.glob("gpgpu-sim*/lib/gcc-*/cuda-*/*/"), reverse=True)
    inherited = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [str(folder) for folder in found] + [folder for folder in inherited if folder]
