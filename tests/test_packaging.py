"""What is in the files that users install, and what an import of it does."""

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mmbn_opt"
LINKED = ("formulations", "solvers")
SOLVER_MODULES = ("highspy", "pyscipopt", "cvxpy", "ecos", "clarabel", "scs", "casadi", "pyomo", "pulp")

in_checkout = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the root links live in the repository only")


def run_python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )


def package_files(pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in PACKAGE.glob(pattern) if path.is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the sdist of this tree and the wheel that was made from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    isolation = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    command = [sys.executable, "-m", "build", *isolation, "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def sdist_names(built: Path) -> set[str]:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder where no root link exists."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_wheel_holds_the_package_and_nothing_else(wheel_names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel_names}
    assert "mmbn_opt" in tops
    assert all(top == "mmbn_opt" or top.endswith(".dist-info") for top in tops), tops


def test_wheel_from_sdist_loses_no_file(wheel_names: set[str]) -> None:
    expected = {name for name in package_files("**/*") if "__pycache__" not in name}
    missing = expected - wheel_names
    assert not missing, sorted(missing)


@pytest.mark.parametrize("room", LINKED)
def test_linked_packages_arrive_under_their_real_name_only(
    room: str, wheel_names: set[str], sdist_names: set[str]
) -> None:
    modules = package_files(f"{room}/**/*.py")
    assert f"mmbn_opt/{room}/__init__.py" in modules
    for names in (wheel_names, sdist_names):
        assert modules <= names
        assert not any(name == room or name.startswith(f"{room}/") for name in names)


@pytest.mark.parametrize("pattern", ["data/datasets/data/*", "display/templates/*"])
def test_data_files_arrive(pattern: str, wheel_names: set[str]) -> None:
    files = package_files(pattern)
    assert files
    assert files <= wheel_names


def test_type_marker_and_licence_arrive(wheel_names: set[str]) -> None:
    assert "mmbn_opt/py.typed" in wheel_names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel_names)


def test_console_script_leads_to_the_command_line(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        assert "mmbn-opt = mmbn_opt.cli:main" in archive.read(name).decode()


@in_checkout
@pytest.mark.parametrize("room", LINKED)
def test_root_links_lead_into_the_package(room: str) -> None:
    assert os.readlink(ROOT / room) == f"mmbn_opt/{room}"
    assert (ROOT / room).samefile(PACKAGE / room)


def test_package_works_without_the_links(unpacked: Path) -> None:
    code = "import mmbn_opt, mmbn_opt.formulations, mmbn_opt.solvers, mmbn_opt.cli; print(mmbn_opt.__file__)"
    done = run_python(code, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(unpacked)


@in_checkout
@pytest.mark.parametrize("room", LINKED)
def test_stray_import_through_a_link_fails_at_once(room: str) -> None:
    """Otherwise the same class would exist twice, under two module names."""
    done = run_python(f"import {room}", cwd=ROOT)
    assert done.returncode != 0
    assert "ImportError: attempted relative import beyond top-level package" in done.stderr


def test_import_loads_no_solver(unpacked: Path) -> None:
    code = f"import sys, mmbn_opt; print(*[name for name in {SOLVER_MODULES} if name in sys.modules])"
    done = run_python(code, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_type_stubs_arrive_and_the_wheel_looks_its_names_up_in_them(
    unpacked: Path, wheel_names: set[str], sdist_names: set[str]
) -> None:
    stubs = package_files("**/*.pyi")
    assert "mmbn_opt/__init__.pyi" in stubs
    assert stubs <= wheel_names
    assert stubs <= sdist_names
    code = "import mmbn_opt; print(mmbn_opt.solve.__module__, mmbn_opt.Structure.__module__)"
    done = run_python(code, cwd=unpacked, PYTHONPATH=str(unpacked))
    assert done.stdout.split() == ["mmbn_opt.solving.dispatch", "mmbn_opt.networks.structure"], done.stderr
