"""What a browser is told about the page before it runs any of it."""

from __future__ import annotations

import httpx

from parley.page import content_security_policy
from tests.browser.conftest import Server


def test_every_file_of_the_page_comes_with_a_policy_that_runs_nothing_inline(shared: Server) -> None:
    with httpx.Client(base_url=shared.url) as client:
        for path in ("/", "/index.html", "/config.json", "/conversation.asl.json"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-security-policy"] == content_security_policy()
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_page_that_has_not_changed_is_not_sent_again(shared: Server) -> None:
    first = httpx.get(shared.url)
    again = httpx.get(shared.url, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "no-cache"


def test_the_page_is_compressed_for_those_who_take_it_so(shared: Server) -> None:
    small = httpx.get(f"{shared.url}/conversation.asl.json")
    plain = httpx.get(f"{shared.url}/conversation.asl.json", headers={"accept-encoding": "gzip;q=0, br"})
    assert small.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert int(small.headers["content-length"]) < int(plain.headers["content-length"]) / 5
    assert small.json() == plain.json()


def test_what_npm_keeps_in_a_clone_is_no_part_of_the_page(shared: Server) -> None:
    for path in ("/package.json", "/package-lock.json", "/node_modules/axe-core/axe.min.js"):
        assert httpx.get(f"{shared.url}{path}").status_code == 404
