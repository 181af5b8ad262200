"""Which addresses the functions of an agent may reach."""

from __future__ import annotations

import pytest

from parley.tools.hosts import HostRefused, HostRules
from parley.tools.http_calls import make_client
from parley.variables import BadSetting, function_hosts

INTERNAL = [
    "127.0.0.1",
    "127.9.9.9",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "169.254.100.1",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104 - looked at, not bound to
    "224.0.0.1",
    "240.0.0.1",
    "192.0.2.1",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:0:0:0:0:80ff:fffe",
    "fd00::1",
    "fe80::1%eth0",
    "ff02::1",
    "2001:db8::1",
]
PUBLIC = ["8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


def rules(setting: str, *addresses: str) -> HostRules:
    return HostRules(HostRules.of(setting).entries, lambda host, port: list(addresses))


@pytest.mark.parametrize("address", INTERNAL)
def test_no_public_name_leads_to_an_address_within(address: str) -> None:
    with pytest.raises(HostRefused, match="no public address") as refused:
        rules("public", address).addresses("tools.example.com", 443)
    assert address not in str(refused.value)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_reached(address: str) -> None:
    assert rules("public", address).addresses("tools.example.com", 443) == [address]


def test_of_several_addresses_the_public_ones_are_used() -> None:
    assert rules("public", "10.0.0.1", "8.8.8.8").addresses("tools.example.com", 443) == ["8.8.8.8"]


@pytest.mark.parametrize("name", ["tools.internal", "TOOLS.internal", "tools.internal."])
def test_a_host_that_is_named_may_have_a_private_address(name: str) -> None:
    assert rules("public, tools.internal", "10.0.0.1").addresses(name, 443) == ["10.0.0.1"]
    assert rules("*.internal", "10.0.0.1").addresses(name, 443) == ["10.0.0.1"]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:169.254.169.254", "fe80::1"]
)
def test_no_name_leads_to_a_loopback_or_link_local_address(address: str) -> None:
    with pytest.raises(HostRefused):
        rules("tools.internal", address).addresses("tools.internal", 443)


@pytest.mark.parametrize(
    ("setting", "url", "words"),
    [
        ("public", "http://tools.example.com/", "must be reached by https here"),
        ("public", "https://127.0.0.1:9001/2018-06-01/runtime", "no public address"),
        ("public", "https://[::1]/", "no public address"),
        ("public", "https://169.254.169.254/latest", "no public address"),
        ("tools.internal", "https://other.internal/", "not on a host"),
        ("*.internal", "https://internal/", "not on a host"),
        ("*.internal", "https://evilinternal/", "not on a host"),
    ],
)
def test_what_an_address_alone_tells_is_refused_before_anything_is_looked_up(
    setting: str, url: str, words: str
) -> None:
    with pytest.raises(HostRefused, match=words):
        rules(setting).check_url(url)


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("public", "https://tools.example.com/a?b=c"),
        ("tools.internal", "https://tools.internal:8443/"),
        ("*.internal", "https://a.b.internal/"),
        ("*", "http://localhost:9000/"),
        ("*", "http://169.254.169.254/"),
    ],
)
def test_an_address_within_the_rules_is_fine(setting: str, url: str) -> None:
    rules(setting).check_url(url)


@pytest.mark.parametrize("setting", ["*", "public"])
def test_no_redirect_takes_a_secret_elsewhere(setting: str) -> None:
    with make_client("https://shop.example", HostRules.of(setting)) as client:
        assert client.follow_redirects is False


def test_a_laptop_reaches_everything_and_aws_what_is_public() -> None:
    assert function_hosts({}, on_aws=False).open
    assert function_hosts({}, on_aws=True).entries == {"public"}
    assert not function_hosts({"PARLEY_FUNCTION_HOSTS": "public"}, on_aws=False).open


@pytest.mark.parametrize("setting", ["*", "public,*"])
def test_aws_is_never_open(setting: str) -> None:
    with pytest.raises(BadSetting, match="PARLEY_FUNCTION_HOSTS"):
        function_hosts({"PARLEY_FUNCTION_HOSTS": setting}, on_aws=True)
