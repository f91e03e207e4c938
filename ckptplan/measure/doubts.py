"""Why the figures of a measurement may be more than storage holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckptplan.errors import printable
from ckptplan.measure.reading import Past
from ckptplan.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from ckptplan.measure.storage import StorageMeasured

LONG_ENOUGH_S = 30.0  # storage has buffers of its own, which a shorter run may end in
_UNEVEN = 1.5  # times: writers that differ more are worth a word


def doubts(found: StorageMeasured) -> tuple[str, ...]:
    """Why the figures may be more than storage holds, as sentences."""
    said = []
    place = found.file_system
    if place.is_memory:
        said.append(f"{printable(found.folder)} is {place.kind}: this is memory, not storage")
    if place.is_layer:
        said.append(
            f"{printable(found.folder)} is the writable layer of a container ({place.kind}): give the folder of a "
            "mounted volume if checkpoints go there"
        )
    if not place.is_memory and found.seconds.mean < LONG_ENOUGH_S:
        said.append(
            f"a repetition took {format_time(found.seconds.mean)}: buffers of the storage itself (controller, flash, "
            f"burst buffer) may have taken all of it; give a --size that takes {LONG_ENOUGH_S:g} s or longer"
        )
    limit = found.memory.dirty_limit_bytes
    if found.burst is not None and found.burst_is_memory and limit is not None and not place.is_memory:
        said.append(_burst_in_memory(limit, found.bytes_of_all))
    if found.writers.values and found.writers.most > _UNEVEN * found.writers.least:
        said.append(
            f"writers are uneven: each by itself got {format_rate(found.writers.least)} to "
            f"{format_rate(found.writers.most)}; a save ends with the slowest"
        )
    if found.read is not None and place.is_served:
        said.append(
            f"what was read back had just been written: the servers of {place.kind} may have had it in their memory"
        )
    if found.past is Past.CACHE:
        said.append("the read rate is that of the page cache, and is left out of the block")
    return tuple(said)


def _burst_in_memory(limit_bytes: float, all_bytes: int) -> str:
    held = f"the page cache holds up to {format_size(limit_bytes)} unwritten"
    if all_bytes < limit_bytes:
        return (
            f"the burst is what memory took: {held}, more than the {format_size(all_bytes)} of a repetition; the "
            "sustained rate includes the flush"
        )
    return (
        f"the burst is in part what memory took: {held}, of the {format_size(all_bytes)} of a repetition; the "
        "sustained rate includes the flush"
    )
