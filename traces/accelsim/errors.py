"""The one error that reading a trace can end in."""


class TraceError(Exception):
    """What is wrong with a trace, where, and what to do about it, in one sentence.

    ``message`` has the file as its subject ("ends inside its header: ..."); ``str()`` puts the place in front of it.
    """

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(message, file, line)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.message}"
