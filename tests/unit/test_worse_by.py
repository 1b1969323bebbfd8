"""When a collection counts as worse than the one that answers."""

import pytest

from common.domain.reindex import worse_by


@pytest.mark.parametrize(("green", "by"), [(0.90, {}), (0.8999, {"recall_at_5": 0.0301}), (0.99, {})])
def test_what_is_worse_by_the_tolerance_itself_is_tolerated(green, by):
    assert worse_by({"recall_at_5": {"blue": 0.93, "green": green}}, 0.03) == by
