# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the wheel of fcmdata (PEP 517) in the source tree: the package, fcm_data.py, and libfcmdata.so.0 where `make`
can build it or has built it. Without the library hits are read by numpy, and recordings are not read. The
environment's FCMDATA_LIBRARY names another library; empty, the wheel has none."""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NAME = "libfcmdata.so.0"


def _text(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def version():
    return re.search(r"^VERSION *:= *(\S+)", _text(ROOT, "Makefile"), re.M)[1]


def metadata():
    """The core metadata, by pyproject.toml."""
    project = tomllib.loads(_text(HERE, "pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    return "\n".join([
        "Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}",
        f"Summary: {project['description']}", f"License: {project['license']['text']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in project["dependencies"]),
        *(f"Provides-Extra: {extra}" for extra in extras),
        *(f"Requires-Dist: {name}; extra == '{extra}'" for extra, names in extras.items() for name in names),
        "Description-Content-Type: text/markdown", "", _text(HERE, "PYTHON.md")])


def _library():
    """Its path, or None."""
    if "FCMDATA_LIBRARY" in os.environ:
        return os.environ["FCMDATA_LIBRARY"] or None
    built = os.path.join(ROOT, "build", "lib", NAME)
    try:
        subprocess.run(["make", "-s", "-C", ROOT, f"build/lib/{NAME}"], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"{NAME} was not built: {e}")  # what was built before will do, or none
    return built if os.path.exists(built) else None


def _files(library):
    """{name in the wheel: path}"""
    package = os.path.join(HERE, "fcmdata")
    found = {f"fcmdata/{name}": os.path.join(package, name) for name in sorted(os.listdir(package))
             if name.endswith((".py", ".typed"))}
    found["fcm_data.py"] = os.path.join(ROOT, "schemas", "fcm_data.py")
    return found | ({f"fcmdata/{NAME}": library} if library else {})


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = _library()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform()) if library else "any"
    tag = f"py3-none-{platform}"
    wheel, info = f"fcmdata-{version()}-{tag}.whl", f"fcmdata-{version()}.dist-info"
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        def add(name, data):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
            z.writestr(name, data)
        for name, path in _files(library).items():
            with open(path, "rb") as f:
                add(name, f.read())
        add(f"{info}/METADATA", metadata().encode())
        pure = "false" if library else "true"
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: fcmdata\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode())
        add(f"{info}/LICENSE", _text(ROOT, "LICENSES", "LGPL-2.1.txt").encode())
        z.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("fcmdata is built in FCM-Server's source tree: pip install ./daemon/consumer")
