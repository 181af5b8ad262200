"""What is installed: the wheel's contents, and one version of a package wherever it runs."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from parley import page

ROOT = Path(__file__).parents[2]
PACKAGES = ("on_http", "on_schedule", "on_socket", "on_task", "parley", "parley_marketer")


def pins(name: str) -> dict[str, str]:
    """The versions that a requirements file pins, by package."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("parley_agents-*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_carries_every_package(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for package in PACKAGES:
        assert f"{package}/__init__.py" in names
    assert "parley/py.typed" in names


def test_the_wheel_carries_the_state_machine_and_the_page_as_they_are(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"web/{name}": path for name, path in page.files(ROOT / "web").items() if name != page.MACHINE
    }
    expected[f"statemachine/{page.MACHINE}"] = ROOT / "statemachine" / page.MACHINE
    packed = {name for name in wheel.namelist() if name.startswith("parley/_data/")}
    assert packed == {f"parley/_data/{name}" for name in expected}
    assert all(wheel.read(f"parley/_data/{name}") == path.read_bytes() for name, path in expected.items())


def test_the_wheel_carries_what_make_installed_for_the_page(wheel: zipfile.ZipFile) -> None:
    if not (ROOT / "web/vendor").is_dir():
        pytest.skip("`make test` installs the page's Markdown first; here nobody has")
    assert b"marked" in wheel.read("parley/_data/web/vendor/marked.js")
    assert b"DOMPurify" in wheel.read("parley/_data/web/vendor/purify.js")


def test_the_wheel_carries_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_command_and_the_example_pack_are_registered() -> None:
    (command,) = entry_points(group="console_scripts", name="parley")
    assert callable(command.load())
    (pack,) = entry_points(group="parley.functions", name="marketer")
    assert callable(pack.load())


def test_the_lambda_layer_runs_the_versions_that_the_tests_run() -> None:
    layer = pins("layers/runtime/requirements.txt")
    assert {"aws-lambda-powertools", "httpx", "pydantic"} <= layer.keys()
    assert layer.items() <= pins("requirements.lock").items()
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_the_layers_run_one_version_of_what_both_carry() -> None:
    mcp, runtime = pins("layers/mcp/requirements.txt"), pins("layers/runtime/requirements.txt")
    assert "mcp" in mcp
    assert "mcp" not in runtime
    assert {name: mcp[name] for name in mcp.keys() & runtime.keys()} == {
        name: runtime[name] for name in mcp.keys() & runtime.keys()
    }
    assert mcp.items() <= pins("requirements.lock").items()


def test_the_lambda_layer_carries_no_server_and_no_sdk() -> None:
    assert (
        not {"boto3", "botocore", "uvicorn", "uvloop", "websockets"}
        & pins("layers/runtime/requirements.txt").keys()
    )


def test_every_declared_package_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = {
        "requirements.lock": project["project"]["dependencies"],
        "requirements-dev.lock": project["dependency-groups"]["dev"],
        "requirements-sam.lock": project["dependency-groups"]["sam"],
        "requirements-node.lock": project["dependency-groups"]["node"],
    }
    for lock, declared in groups.items():
        names = {re.split(r"[\[<>=!;\s]", entry)[0].lower() for entry in declared}
        assert names <= pins(lock).keys()
