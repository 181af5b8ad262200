import stat

import jwt
import pytest

from parley.domain.errors import StorageError
from parley.embedded.issuer import AUDIENCE, ISSUER, OPERATOR_AUDIENCE, InvalidToken, LocalIssuer


class Clock:
    time = 1_700_000_000.0

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def issuer(tmp_path, clock):
    return LocalIssuer(tmp_path, clock)


def test_a_token_is_good_until_it_expires(issuer, clock):
    token = issuer.issue("dev", ttl=60)
    assert issuer.verify(token)["sub"] == "dev"
    clock.time += 59
    assert issuer.verify(token)["sub"] == "dev"
    clock.time += 1
    with pytest.raises(InvalidToken, match="expired"):
        issuer.verify(token)


def test_a_token_opens_what_it_was_issued_for_alone_however_often_it_is_shown(issuer):
    for mine, other in ((AUDIENCE, OPERATOR_AUDIENCE), (OPERATOR_AUDIENCE, AUDIENCE)):
        token = issuer.issue("dev", audience=mine)
        assert issuer.verify(token, mine)["sub"] == "dev"
        with pytest.raises(InvalidToken, match="audience"):
            issuer.verify(token, other)


def test_a_token_of_the_future_is_not_good_yet(issuer, clock):
    token = issuer.issue("dev")
    clock.time -= 10
    with pytest.raises(InvalidToken, match="not valid yet"):
        issuer.verify(token)


def test_the_key_is_made_once_and_is_its_owners_alone(issuer, tmp_path, clock):
    assert stat.S_IMODE((tmp_path / "issuer.pem").stat().st_mode) == 0o600
    assert LocalIssuer(tmp_path, clock).verify(issuer.issue("dev"))["sub"] == "dev"
    assert [path.name for path in tmp_path.iterdir()] == ["issuer.pem"]


def test_the_key_set_verifies_the_tokens(issuer):
    key = jwt.PyJWKSet.from_dict(issuer.key_set())[issuer.key_id]
    claims = jwt.decode(
        issuer.issue("dev"),
        key,
        ["RS256"],
        audience=AUDIENCE,
        issuer=ISSUER,
        options={"verify_exp": False, "verify_nbf": False, "verify_iat": False},
    )
    assert claims["sub"] == "dev"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"aud": "other"}, "audience"),
        ({"iss": "https://other"}, "issuer"),
        ({"sub": ""}, "subject"),
        ({"exp": None}, "malformed"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused(issuer, clock, change, reason):
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "dev", "exp": int(clock()) + 60} | change
    claims = {name: value for name, value in claims.items() if value is not None}
    token = jwt.encode(claims, issuer._key, algorithm="RS256", headers={"kid": issuer.key_id})
    with pytest.raises(InvalidToken, match=reason):
        issuer.verify(token)


def test_tokens_of_other_keys_and_other_algorithms_are_refused(issuer, tmp_path_factory, clock):
    stranger = LocalIssuer(tmp_path_factory.mktemp("other"), clock)
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "dev", "exp": int(clock()) + 60}
    forged = jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": issuer.key_id})
    unsigned = jwt.encode(claims, "", algorithm="none", headers={"kid": issuer.key_id})
    with pytest.raises(InvalidToken, match="not signed by this issuer"):
        issuer.verify(stranger.issue("dev"))
    for token in (forged, unsigned, "", "a.b.c", issuer.issue("dev") + "x"):
        with pytest.raises(InvalidToken):
            issuer.verify(token)


def test_a_damaged_key_is_named(tmp_path, clock):
    (tmp_path / "issuer.pem").write_text("nonsense")
    with pytest.raises(StorageError, match=r"issuer\.pem is no private key"):
        LocalIssuer(tmp_path, clock)
