"""What holds for every test: no real AWS account can be reached, and property tests repeat themselves.

The dummy credentials and the region are set when the suite is collected, before anything makes a client.
"""

import functools
import os
import ssl

import pytest
from hypothesis import HealthCheck, settings

# Their assertions say what was compared, as those of a test do.
pytest.register_assert_rewrite(
    "tests.faults.truth", "tests.faults.workers", "tests.faults.world", "tests.unit.protocol_invariants"
)

os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_SESSION_TOKEN="testing",
    AWS_DEFAULT_REGION="eu-central-1",
    AWS_EC2_METADATA_DISABLED="true",
)
# A developer's own profile would win over the credentials above.
os.environ.pop("AWS_PROFILE", None)

# Every httpx client reads the certificates of all authorities, some 30 ms each time: read once, they serve all.
ssl.create_default_context = functools.cache(ssl.create_default_context)  # type: ignore[assignment]

# A shared machine is slow at odd moments: how long an example takes says nothing there.
settings.register_profile("dev", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
