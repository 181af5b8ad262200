"""The page on AWS: off unless asked for, private behind CloudFront, with the headers of the embedded server's."""

from typing import Any

from parley import page
from tests.support.template import resources, source, transformed

SOCKET = "wss://${SocketApi}.execute-api.${AWS::Region}.${AWS::URLSuffix}"


def distribution() -> dict[str, Any]:
    (found,) = resources("AWS::CloudFront::Distribution").values()
    config: dict[str, Any] = found["DistributionConfig"]
    return config


def test_the_page_costs_nothing_until_it_is_wanted() -> None:
    parts = {name: each for name, each in transformed()["Resources"].items() if name.startswith("Page")}
    assert len(parts) == 5
    assert all(each["Condition"] == "HostsPage" for each in parts.values())
    assert source()["Parameters"]["HostPage"]["Default"] == "false"


def test_the_pages_bucket_is_private_and_read_by_its_distribution_alone() -> None:
    bucket = resources("AWS::S3::Bucket")["PageBucket"]
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    deny, allow = resources("AWS::S3::BucketPolicy")["PageBucketPolicy"]["PolicyDocument"]["Statement"]
    assert (deny["Effect"], deny["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert (allow["Principal"], allow["Action"]) == ({"Service": "cloudfront.amazonaws.com"}, "s3:GetObject")
    (caller,) = allow["Condition"]["StringEquals"].values()
    assert caller["Fn::Sub"].endswith(":distribution/${PageDistribution}")
    (access,) = resources("AWS::CloudFront::OriginAccessControl").values()
    assert access["OriginAccessControlConfig"]["SigningBehavior"] == "always"


def test_the_page_has_the_headers_of_the_embedded_servers() -> None:
    (policy,) = resources("AWS::CloudFront::ResponseHeadersPolicy").values()
    config = policy["ResponseHeadersPolicyConfig"]
    security = config["SecurityHeadersConfig"]
    given = security["ContentSecurityPolicy"]["ContentSecurityPolicy"]["Fn::Sub"]
    headers = {item["Header"]: item["Value"] for item in config["CustomHeadersConfig"]["Items"]} | {
        "content-security-policy": given,
        "referrer-policy": security["ReferrerPolicy"]["ReferrerPolicy"],
        "x-content-type-options": "nosniff" if security["ContentTypeOptions"] else "",
        "x-frame-options": security["FrameOptions"]["FrameOption"],
    }
    assert headers == page.security_headers(f"{SOCKET} ${{PageConnectOrigins}}")
    assert security["StrictTransportSecurity"]["AccessControlMaxAgeSec"] >= 31_536_000


def test_the_page_and_its_api_have_one_origin() -> None:
    behind = {entry["PathPattern"]: entry for entry in distribution()["CacheBehaviors"]}
    assert behind.keys() == {"/api/*", "/confirmations/*", "/openapi.json"}
    for entry in behind.values():
        assert entry["TargetOriginId"] == "api"
        assert {"GET", "POST", "PUT", "DELETE"} <= set(entry["AllowedMethods"])
        # CachingDisabled and AllViewerExceptHostHeader: "Use managed cache policies" and "Use managed origin request
        # policies" of CloudFront's Developer Guide.
        assert entry["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
        assert entry["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"
    assert distribution()["DefaultCacheBehavior"]["TargetOriginId"] == "page"
    assert distribution()["DefaultRootObject"] == page.INDEX


def test_what_the_api_answers_is_below_the_paths_that_go_to_it() -> None:
    api = resources("AWS::ApiGatewayV2::Api")["HttpApi"]
    prefixes = ("/api/", "/confirmations/", "/openapi.json")
    assert all(path.startswith(prefixes) for path in api["Body"]["paths"])
