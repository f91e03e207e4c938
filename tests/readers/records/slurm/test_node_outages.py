from __future__ import annotations

from math import isnan, nan

import numpy as np

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm.node_outages import Event, NodeOutage, continued, lasting


def _outage(node, start_s, end_s):
    return NodeOutage(node, start_s, end_s, Outcome.FAILURE, "fan")


def test_outages_without_an_end_last_where_no_other_follows():
    """The last one of a node ends with the window; one that another follows, or behind the window, has no end."""
    found = [_outage("a", 0.0, nan), _outage("a", 5.0, nan), _outage("b", 1.0, 3.0), _outage("c", 20.0, nan)]
    ended, open_, followed = lasting(found, 10.0)
    assert (open_, followed) == (1, 1)
    assert [None if isnan(outage.end_s) else outage.end_s for outage in ended] == [None, 10.0, 3.0, None]


def test_pieces_of_which_the_last_has_no_end():
    """Down, then drained and not back: one failure from the first row on, without an end."""
    events = [Event("a", "", "", "DRAIN", "repair"), Event("a", "", "", "DOWN", "fan")]
    found, pieces = continued(events, np.array([5.0, 0.0]), np.array([nan, 5.0]))
    assert (len(found), pieces) == (1, 1)
    assert found[0][:2] == ("a", 0.0)
    assert isnan(found[0].end_s)
    assert found[0][3:] == (Outcome.FAILURE, "fan")


def test_a_row_within_the_outage_before_does_not_shorten_it():
    """DRAIN from 0 to 100 with DOWN from 10 to 20 within: the node is away until 100, and it failed."""
    events = [Event("n1", "0", "100", "DRAIN", "planned"), Event("n1", "10", "20", "DOWN", "gpu")]
    (outage,), joined = continued(events, np.array([0.0, 10.0]), np.array([100.0, 20.0]))
    assert joined == 1
    assert (outage.start_s, outage.end_s, outage.outcome) == (0.0, 100.0, Outcome.FAILURE)
