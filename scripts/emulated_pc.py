"""Runs programs on an emulated PC with a newer processor, in Bochs with Debian's kernel.

Bochs must be installed. The other packages of Debian 12, such as the kernel, are unpacked into a folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

INSTALLED = ("bochs", "bochs-term", "bochsbios", "vgabios")
PACKAGES = (
    "isolinux",
    "syslinux-common",
    "busybox-static",
    "xorriso",
    "libisoburn1",
    "libburn4",
    "libisofs6",
    "libjte2",
)
KERNEL = "linux-image-cloud-amd64"
DONE = "== all done"

# Options of the kernel. It would disable AVX because of XSAVES and XSAVEC (323, 321) of Bochs 2.7.
OPTIONS = "nokaslr mitigations=off nopti nofsgsbase nopku nopcid noinvpcid clearcpuid=321,323"

INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
export PATH=/bin HOME=/tmp
/bin/busybox --install -s /bin
cd /work
n=0
while read -r line; do
  echo "== begin $n"
  sh -c "$line" </dev/null 2>&1
  echo "== end $n $?"
  n=$((n + 1))
done </commands
echo "{done}"
sync
while true; do sleep 60; done
"""

BOCHSRC = """
config_interface: textconfig
display_library: rfb, options="timeout=0"
cpu: model={model}, count=1, ips=10000000, reset_on_triple_fault=0
memory: guest={memory}, host={memory}
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0: enabled=1
ata0-master: type=cdrom, path={iso}, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={serial}
clock: sync=none, time0=utc
log: {log}
panic: action=fatal
error: action=report
info: action=ignore
debug: action=ignore
"""


def fetch(folder: Path) -> Path:
    """Unpacks the boot loader and the kernel, and returns their folder."""
    root = folder / "root"
    if (folder / "fetched").exists():
        return root
    if not shutil.which("bochs-bin"):
        administrator = [] if os.geteuid() == 0 else ["sudo"]
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *INSTALLED]
        subprocess.run([*administrator, *install], check=True)
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    text = subprocess.run(["apt-cache", "depends", KERNEL], check=True, capture_output=True, text=True).stdout
    kernel = re.search(r"Depends: (linux-image-\S+)", text)
    if not kernel:
        raise SystemExit(f"no kernel found: {KERNEL} is not in the package lists; run apt-get update")
    subprocess.run(["apt-get", "download", "-q", *PACKAGES, kernel[1]], cwd=debs, check=True)
    for deb in sorted(debs.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
    (folder / "fetched").touch()
    return root


def libraries(program: Path) -> Iterator[Path]:
    """Returns the shared libraries of a program, including the loader."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for match in re.finditer(r"(/\S+) \(0x", text):
        yield Path(match[1])


def archive(entries: Iterable[tuple[str, bytes, int]]) -> bytes:
    """Returns a cpio archive (new ASCII format) of names, contents and modes."""
    out = bytearray()
    for number, (name, data, mode) in enumerate([*entries, ("TRAILER!!!", b"", 0)], 1):
        text = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(text), 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + text
        out += bytes(-len(out) % 4)
        out += data
        out += bytes(-len(out) % 4)
    return bytes(out)


def initial_files(root: Path, files: Sequence[Path], commands: Sequence[str]) -> bytes:
    """Returns the initial file system: busybox, `files` in /work, their shared libraries, the commands."""
    programs = {Path("/work") / file.name: file for file in files}
    for file in files:
        if os.access(file, os.X_OK):
            programs.update({library: library for library in libraries(file)})
    folders = {"/bin", "/proc", "/dev", "/tmp", "/work"}
    for place in programs:
        folders.update(str(folder) for folder in place.parents if str(folder) != "/")
    entries = [(folder.lstrip("/"), b"", 0o040755) for folder in sorted(folders)]
    entries.append(("bin/busybox", (root / "bin/busybox").read_bytes(), 0o100755))
    entries.append(("init", INIT.format(done=DONE).encode(), 0o100755))
    entries.append(("commands", "".join(line + "\n" for line in commands).encode(), 0o100644))
    entries += [(str(place).lstrip("/"), file.read_bytes(), 0o100755) for place, file in programs.items()]
    return archive(entries)


def disc(root: Path, folder: Path, files: bytes) -> Path:
    """Writes a bootable disc with the kernel and the initial file system, and returns its path."""
    tree = folder / "disc"
    tree.mkdir(exist_ok=True)
    (tree / "isolinux.bin").write_bytes((root / "usr/lib/ISOLINUX/isolinux.bin").read_bytes())
    (tree / "ldlinux.c32").write_bytes((root / "usr/lib/syslinux/modules/bios/ldlinux.c32").read_bytes())
    (tree / "linux").write_bytes(next((root / "boot").glob("vmlinuz-*")).read_bytes())
    (tree / "files").write_bytes(files)
    (tree / "isolinux.cfg").write_text(
        f"default linux\nlabel linux\n  kernel linux\n  append initrd=files console=ttyS0 quiet {OPTIONS}\n"
    )
    iso = folder / "disc.iso"
    xorriso = ["xorriso", "-as", "mkisofs", "-quiet", "-o", str(iso), "-b", "isolinux.bin", "-c", "boot.cat"]
    xorriso += ["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table", str(tree)]
    subprocess.run(xorriso, check=True, env=environment(root), capture_output=True)
    return iso


def environment(root: Path) -> dict[str, str]:
    """Returns the environment variables for programs of the unpacked packages."""
    library = f"{root}/usr/lib/x86_64-linux-gnu"
    return os.environ | {
        "PATH": f"{root}/usr/bin:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": f"{library}:{root}/lib/x86_64-linux-gnu",
    }


def run(
    folder: Path,
    files: Sequence[Path],
    commands: Sequence[str],
    *,
    model: str = "corei7_icelake_u",
    memory: int = 1024,
    minutes: float = 60,
) -> list[tuple[int | None, str]]:
    """Runs commands on the emulated PC.

    Args:
        folder: a folder for temporary files.
        files: the files that the commands need. They are copied to the working folder of the commands.
        commands: the shell commands.
        model: a processor that `bochs --help cpu` lists.
        memory: the memory of the PC in MiB.
        minutes: the time limit for all commands.

    Returns:
        The output and the exit status of each command, or None for a command that did not end.
    """
    root = fetch(folder)
    iso = disc(root, folder, initial_files(root, files, commands))
    serial = folder / "serial.txt"
    serial.write_bytes(b"")
    settings = folder / "bochsrc"
    values = {"model": model, "memory": memory, "iso": iso, "serial": serial}
    settings.write_text(BOCHSRC.format(**values, log=folder / "bochs.log"))
    # Debian's Bochs contains a debugger, which waits for this command.
    (folder / "rc").write_text("c\n")
    process = subprocess.Popen(
        ["bochs-bin", "-q", "-unlock", "-rc", str(folder / "rc"), "-f", str(settings)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + minutes * 60
    try:
        while time.monotonic() < end and process.poll() is None and DONE not in read(serial):
            time.sleep(1)
    finally:
        process.terminate()
        process.wait()
    return results(read(serial), len(commands))


def read(serial: Path) -> str:
    return serial.read_bytes().decode(errors="replace").replace("\r", "")


def results(text: str, count: int) -> list[tuple[int | None, str]]:
    """Splits the output of the serial port into the results of the commands."""
    found: list[tuple[int | None, str]] = []
    for number in range(count):
        part = text.partition(f"== begin {number}\n")[2]
        said, ended, rest = part.partition(f"== end {number} ")
        found.append((int(rest.split()[0]) if ended else None, said))
    return found
