"""Where records of others lie that may not be copied; tests that read them are skipped without them."""

from __future__ import annotations

from pathlib import Path

import pytest

RECORDS = Path(__file__).resolve().parents[3] / "shared" / "data" / "failures"
needs_records = pytest.mark.skipif(not RECORDS.is_dir(), reason="the collection of records is not here")
