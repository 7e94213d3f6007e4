"""Boots one of Debian's kernels in a virtual machine, without a disk and without KVM."""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import environment  # noqa: E402

# Time passes by 8 ns an instruction, and as it does here while there is nothing to do: no test depends
# on how much of this machine the guest gets. A second CPU would be simulated in turns, and whoever
# waits for the other one would use up its own.
MACHINE = ["-accel", "tcg", "-icount", "shift=3", "-cpu", "max", "-smp", "1", "-m", "3G",
           "-nodefaults", "-no-user-config", "-nographic", "-no-reboot"]
KERNEL_OPTIONS = ["console=ttyS0", "quiet", "panic=-1", "mitigations=off", "tsc=reliable", "init_on_alloc=0"]


def make_initramfs(kernel, folder):
    """The init, its shell and its modules, in a new archive."""
    tree, archive = folder / "initramfs", folder / "initramfs.cpio"
    for name in ("bin", "dev", "host", "memory", "proc", "root"):
        (tree / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", tree / "bin")
    shutil.copy(ROOT / "tests" / "vm" / "init", tree)
    shutil.copytree(kernel / "modules", tree / "modules")
    names = "".join(f"{file.relative_to(tree)}\n" for file in sorted(tree.rglob("*")))
    with archive.open("wb") as output:
        subprocess.run(["/bin/busybox", "cpio", "-o", "-H", "newc"], cwd=tree, input=names.encode(),
                       stdout=output, stderr=subprocess.DEVNULL, check=True)
    return archive


def share(tag, path, *options):
    return ["-virtfs", ",".join(["local", f"mount_tag={tag}", f"path={path}", "security_model=none",
                                 "multidevs=remap", *options])]


def boot(kernel, folder, limit):
    """Runs the script folder/job in a guest, which has the folder as /run/out. `kernel` is the
    directory that `scripts/fetch kernel` names. False if it took more seconds than the limit."""
    settings = [f"gosym_tree={ROOT}", f"gosym_cache={environment.USER_CACHE}"]
    command = ["qemu-system-x86_64", *MACHINE, "-serial", f"file:{folder}/console",
               "-kernel", kernel / "vmlinuz", "-initrd", make_initramfs(kernel, folder),
               "-append", " ".join(KERNEL_OPTIONS + settings),
               *share("host", "/", "readonly=on"), *share("out", folder)]
    try:
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False
    return True
