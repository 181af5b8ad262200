import pytest

pytest.register_assert_rewrite("tests.faults.truth", "tests.faults.world")
