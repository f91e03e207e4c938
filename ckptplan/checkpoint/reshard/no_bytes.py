"""The source of a checkpoint whose data is nowhere at hand."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.manifest import Object, Raw, Tensor
from ckptplan.errors import InputError


class NoBytes:
    """Refuses every read, and says why there is nothing to read."""

    def __init__(self, why: str) -> None:
        self._why = why

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Nothing lies anywhere."""
        return self._refuse(tensor.key)

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """Nothing can be read."""
        return self._refuse(tensor.key)

    def value(self, entry: Object) -> Any:
        """No object can be read."""
        return self._refuse(entry.key)

    def _refuse(self, key: str) -> NoReturn:
        raise InputError(f"{key}: {self._why}")
