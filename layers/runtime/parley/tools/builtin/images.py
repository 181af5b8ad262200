"""generateImage: a picture by the agent's image model, kept as a workspace file."""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256

from pydantic import Field

from parley.domain.errors import ProviderError
from parley.tools.builtin.workspace import files_of, shown
from parley.tools.function import Function, FunctionArguments, FunctionFailed, FunctionResult
from parley.turns.files import FileInfo
from parley.turns.model_ports import Image

FOLDER = "images/"
PATIENCE = 10.0
"""Seconds of a provider's Retry-After that are waited out, once."""
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
_LONGEST_NAME = 40


class GenerateImage(Function):
    """One picture per call: a call that runs again finds the picture of its first run."""

    name = "generateImage"
    description = (
        "Makes a picture from a description. It is saved in the project's workspace and shown to the user."
    )
    time_limit_seconds = 300  # some models take minutes

    class Arguments(FunctionArguments):
        """What is to be seen."""

        prompt: str = Field(
            min_length=1,
            max_length=4_000,
            description="What the picture shows, in detail, and in which style.",
        )

    def handle(self, arguments: Arguments) -> FunctionResult:
        """Saved under a name of its own: nothing is ever replaced."""
        files = files_of(self.context)
        begin = f"{FOLDER}{_name(arguments.prompt)}-{_mark(self.context.idempotency_key)}."
        if known := files.list(begin, limit=1):
            return self._result(known[0])
        image = self._made(arguments.prompt)
        path = begin + _ENDINGS.get(image.media_type, "bin")
        files.write(path, image.data)
        return self._result(FileInfo(path, len(image.data), self.context.clock.now()))

    def _made(self, prompt: str) -> Image:
        imagine = self.context.imagine
        if imagine is None:
            raise FunctionFailed("This agent has no image model.")
        try:
            try:
                return imagine(prompt)
            except ProviderError as error:
                if not error.retryable or (error.retry_after or 0) > PATIENCE:
                    raise
                self.context.clock.sleep(1.0 if error.retry_after is None else error.retry_after)
                return imagine(prompt)
        except ProviderError as error:
            raise FunctionFailed(f"The picture could not be made. {error.message}") from error

    def _result(self, file: FileInfo) -> FunctionResult:
        ending = file.path.rpartition(".")[2]
        types = {ending: media_type for media_type, ending in _ENDINGS.items()}
        media_type = types.get(ending, "application/octet-stream")
        words = f"The picture is saved as {file.path} ({file.size:,} bytes) and shown to the user."
        return FunctionResult(words, {"image": shown(self.context, file, media_type=media_type)})


def _name(prompt: str) -> str:
    """The first words of the prompt, as plain letters."""
    plain = unicodedata.normalize("NFKD", prompt).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain)[:_LONGEST_NAME].strip("-") or "picture"


def _mark(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:10]
