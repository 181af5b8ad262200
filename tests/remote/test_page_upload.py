"""`parley page`: the page into the bucket of a deployed stack, in a mocked account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from parley import page
from parley.aws.page_host import PageHost, PageNotHosted
from parley.cli.main import main

REGION = "eu-central-1"
BUCKET = "the-page"
TEMPLATE: Any = {
    "Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}}},
    "Outputs": {
        "WebSocketUrl": {"Value": "wss://socket.example/live"},
        "PageUrl": {"Value": "https://page.example"},
        "PageSignIn": {"Value": "https://login.example/ page-client openid profile"},
        "PageBucketName": {"Value": {"Ref": "Bucket"}},
    },
}


@pytest.fixture
def account(monkeypatch: Any) -> Iterator[boto3.session.Session]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield boto3.session.Session(region_name=REGION)


def deploy(account: boto3.session.Session, **changes: str) -> str:
    """A stack that hosts a page; the id of its distribution."""
    origin = {"Id": "page", "DomainName": "x.example", "CustomOriginConfig": ORIGIN}
    created = account.client("cloudfront").create_distribution(
        DistributionConfig={
            "CallerReference": "once",
            "Comment": "",
            "Enabled": True,
            "Origins": {"Quantity": 1, "Items": [origin]},
            "DefaultCacheBehavior": {"TargetOriginId": "page", "ViewerProtocolPolicy": "https-only"},
        }
    )
    distribution = str(created["Distribution"]["Id"])
    outputs = {**TEMPLATE["Outputs"], "PageDistributionId": {"Value": distribution}}
    outputs |= {name: {"Value": value} for name, value in changes.items()}
    body = json.dumps({**TEMPLATE, "Outputs": outputs})
    account.client("cloudformation").create_stack(StackName="parley", TemplateBody=body)
    return distribution


ORIGIN: Any = {"HTTPPort": 80, "HTTPSPort": 443, "OriginProtocolPolicy": "https-only"}


def test_the_whole_page_is_uploaded_with_what_it_has_to_know(account: Any, capsys: Any) -> None:
    distribution = deploy(account)
    s3 = account.client("s3")
    s3.put_object(Bucket=BUCKET, Key="gone.js", Body=b"old")
    assert main(["page", "--stack", "parley"]) == 0
    said = capsys.readouterr().out
    assert "1 old ones removed" in said
    assert "https://page.example" in said
    keys = {entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET)["Contents"]}
    assert {"index.html", "app.js", page.CONFIG, page.MACHINE} <= keys
    assert "gone.js" not in keys
    index = s3.get_object(Bucket=BUCKET, Key="index.html")
    assert (index["ContentType"], index["CacheControl"]) == ("text/html; charset=utf-8", "no-cache")
    config = json.loads(s3.get_object(Bucket=BUCKET, Key=page.CONFIG)["Body"].read())
    assert config == {
        "socket": "wss://socket.example/live",
        "sign_in": {
            "issuer": "https://login.example/",
            "client_id": "page-client",
            "scope": "openid profile",
        },
    }
    made = account.client("cloudfront").list_invalidations(DistributionId=distribution)
    assert made["InvalidationList"]["Quantity"] == 1


def test_without_a_client_id_people_sign_in_by_token(account: Any) -> None:
    deploy(account, PageSignIn="https://login.example/  openid")
    assert main(["page", "--stack", "parley"]) == 0
    body = account.client("s3").get_object(Bucket=BUCKET, Key=page.CONFIG)["Body"].read()
    assert json.loads(body) == {"socket": "wss://socket.example/live"}


def test_a_stack_without_a_page_is_told_how_it_gets_one(account: Any, capsys: Any) -> None:
    body = json.dumps({"Resources": TEMPLATE["Resources"]})
    account.client("cloudformation").create_stack(StackName="bare", TemplateBody=body)
    assert main(["page", "--stack", "bare"]) == 1
    assert "HostPage=true" in capsys.readouterr().err


def test_a_stack_that_is_not_there_is_named(account: Any, capsys: Any) -> None:
    assert main(["page", "--stack", "elsewhere"]) == 1
    assert "elsewhere" in capsys.readouterr().err


class Refusing:
    """A bucket and a distribution: files go in, none goes out. Every call is kept."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def put_object(self, **wanted: Any) -> None:
        self.called.append(wanted["Key"])

    def get_paginator(self, name: str) -> Any:
        return self

    def paginate(self, **bucket: Any) -> Any:
        return [{"Contents": [{"Key": "index.html"}, {"Key": "old.js"}]}]

    def delete_objects(self, **wanted: Any) -> Any:
        return {"Errors": [{"Key": "old.js", "Code": "AccessDenied"}]}

    def create_invalidation(self, **wanted: Any) -> None:
        self.called.append("forget")


def test_old_files_that_cannot_be_removed_are_told_and_the_new_page_is_there() -> None:
    account = Refusing()
    host = PageHost("https://page.example/", BUCKET, "E1", {}, account, account)
    with pytest.raises(PageNotHosted, match=r"could not be removed from the-page: old\.js: AccessDenied"):
        host.upload()
    assert account.called[-2:] == ["index.html", "forget"]
