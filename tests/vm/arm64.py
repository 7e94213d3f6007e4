"""Boots Debian's Linux for arm64 in a virtual machine, whose disk is memory: Debian's cloud kernels
have no way to a directory of the host. What a job leaves in /out comes back on a disk of its own.
"""
import pathlib
import stat
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Time passes by the instructions that are executed, as in the guests of boot.py, so that a slow host
# takes no samples away.
MACHINE = ["-M", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg,thread=single", "-m", "3G",
           "-nodefaults", "-nographic", "-no-reboot", "-nic", "none", "-monitor", "none"]
KERNEL_OPTIONS = "console=ttyAMA0 quiet panic=-1 init_on_alloc=0"
MODULES = ["virtio", "virtio_ring", "virtio_mmio", "virtio_blk"]  # each after those that it needs
DISK_SIZE = 256 << 20

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tracefs none /sys/kernel/tracing
mount -t bpf none /sys/fs/bpf
mount -t cgroup2 none /sys/fs/cgroup
for module in MODULES; do insmod /modules/$module.ko; done
ifconfig lo up
(cd /out && HOME=/root PATH=/bin:/usr/bin sh /job) >/dev/ttyAMA0 2>&1 </dev/null
echo init: the job took $(cut -d' ' -f1 /proc/uptime) s >/dev/ttyAMA0
tar -C /out -c -f /dev/vda . && sync
poweroff -f
"""


def member(name, mode, content=b""):
    """A member of an archive in the format of cpio that the kernel unpacks (newc)."""
    def padded(data):
        return data + b"\0" * (-len(data) % 4)
    numbers = [member.number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
    member.number += 1
    head = b"070701" + b"".join(b"%08X" % number for number in numbers)
    return padded(head + name.encode() + b"\0") + padded(content)


member.number = 1


def make_initramfs(files, archive):
    """`files`: by the absolute path in the guest a file of the host, or a text."""
    folders = {"/bin", "/dev", "/proc", "/sys", "/tmp", "/root", "/out", "/modules", "/run", "/etc"}
    for path in files:
        folders.update(str(parent) for parent in pathlib.PurePath(path).parents)
    folders.discard("/")
    with archive.open("wb") as output:
        for folder in sorted(folders):
            output.write(member(folder[1:], stat.S_IFDIR | 0o755))
        for path, source in files.items():
            content = source.encode() if isinstance(source, str) else pathlib.Path(source).read_bytes()
            output.write(member(path[1:], stat.S_IFREG | 0o755, content))
        output.write(member("TRAILER!!!", 0))


def fetch(*wanted):
    return pathlib.Path(subprocess.run([ROOT / "scripts" / "fetch", *wanted], check=True, text=True,
                                       stdout=subprocess.PIPE).stdout.strip())


def boot(version, job, files, folder, limit, cpus=2):
    """Runs a shell script in a guest that has the files besides. `folder` gets its console and what it
    leaves in /out; false if the guest took more seconds than the limit."""
    kernel = fetch("kernel", version, "arm64")
    modules = {f"/modules/{name}.ko": kernel / "modules" / f"{name}.ko" for name in MODULES}
    busybox = fetch("debian", "busybox-static", "bin/busybox", "bookworm", "arm64")
    folder.mkdir(parents=True, exist_ok=True)
    archive, disk = folder / "initramfs.cpio", folder / "disk"
    make_initramfs({"/init": INIT.replace("MODULES", " ".join(MODULES)), "/bin/busybox": busybox,
                    "/job": job, **modules, **files}, archive)
    with disk.open("wb") as output:
        output.truncate(DISK_SIZE)
    command = ["qemu-system-aarch64", *MACHINE, "-smp", str(cpus), "-serial", f"file:{folder}/console",
               "-kernel", kernel / "vmlinuz", "-initrd", archive, "-append", KERNEL_OPTIONS,
               "-drive", f"file={disk},format=raw,if=none,id=disk", "-device",
               "virtio-blk-device,drive=disk"]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=limit)
        with tarfile.open(disk) as left:
            left.extractall(folder / "out")
    except (subprocess.TimeoutExpired, tarfile.ReadError):
        return False
    finally:
        disk.unlink()
        archive.unlink()
    return True
