"""Making a folder ready for agents, and undoing exactly that.

Everything is planned before anything is written: if one file is in the way, nothing changes. What a file was before is
remembered in `.dibs/init.json`; as long as nobody else changed it, that is what it becomes again. Otherwise what is
ours in it is taken out, and the rest stays. A file is written whole or not at all, through symbolic links, which stay.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from msgspec import DecodeError, Struct, field
from msgspec.json import decode, encode, format

from dibs.cli import skill
from dibs.errors import Invalid, Unavailable
from dibs.rules import blocks, json_members

FOLDER = ".dibs"
RECORD = ".dibs/init.json"
STORE = ".dibs/dibs.db"
IGNORE = ".dibs/.gitignore"


class Written(Struct, omit_defaults=True):
    """What was done to a file: its text before (None: there was none), and the digest of the one after."""

    after: str
    before: str | None = None


class Record(Struct, omit_defaults=True):
    """What `dibs init` did here."""

    files: dict[str, Written] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


class Change(Struct, frozen=True):
    """What becomes of one file: `created`, `changed`, `removed`, `kept` (it is there, and not ours to change) or
    `unchanged`."""

    path: str
    change: str
    text: str | None = None


class Piece(Struct, frozen=True):
    """One file: how our part gets into its text (None: no file yet), and out of it (None: nothing is left)."""

    path: str
    put: Any
    take_out: Any


def pieces() -> tuple[Piece, ...]:
    """All files that agents read."""
    whole = skill.skill()
    return (
        Piece(
            "AGENTS.md",
            lambda text: blocks.put(text or "", skill.NOTICE, blocks.MARKDOWN),
            lambda text: blocks.take_out(text, blocks.MARKDOWN) or None,
        ),
        *(
            Piece(
                f"{folder}/skills/dibs/SKILL.md",
                lambda text: whole if text is None else text,
                lambda text: None if text == whole else text,
            )
            for folder in (".claude", ".agents")
        ),
        _json(".mcp.json", "mcpServers", skill.SERVER),
        Piece(
            ".codex/config.toml",
            _put_toml,
            lambda text: blocks.take_out(text, blocks.TOML) or None,
        ),
        _json(".cursor/mcp.json", "mcpServers", skill.SERVER),
        _json(".vscode/mcp.json", "servers", skill.VSCODE_SERVER),
    )


def plan(root: str) -> list[Change]:
    """What `dibs init` would do in a folder. Invalid names the file that is in the way."""
    record = read_record(root)
    changes = [] if os.path.exists(os.path.join(root, IGNORE)) else [Change(IGNORE, "created", "*\n")]
    for piece in pieces():
        text = read(root, piece.path)
        try:
            wanted = piece.put(text)
        except json_members.Unreadable as error:
            raise in_the_way(piece.path, f"is not JSON that can be read ({error}); mend it first.") from None
        known = record.files.get(piece.path)
        if text is not None and wanted == text and known is not None and known.after == digest(text):
            # As we wrote it; a newer version may have other words.
            wanted = piece.put(known.before)
        if wanted == text:
            changes.append(Change(piece.path, "unchanged"))
        else:
            must_be_writable(root, piece.path)
            changes.append(Change(piece.path, "created" if text is None else "changed", wanted))
    if any(change.text is not None for change in changes):
        must_be_writable(root, RECORD)
    return changes


def apply(root: str, changes: list[Change]) -> None:
    """Write what was planned. The record comes first: whatever happens then, it can be undone."""
    due = [change for change in changes if change.text is not None]
    if not due:
        return
    record = read_record(root)
    for change in due:
        assert change.text is not None
        known = record.files.get(change.path)
        before = read(root, change.path)
        if known is not None and before is not None and known.after == digest(before):
            before = known.before
        record.files[change.path] = Written(after=digest(change.text), before=before)
        record.folders += [folder for folder in missing_folders(root, change.path) if folder not in record.folders]
    _write_record(root, record)
    for change in due:
        assert change.text is not None
        write(root, change.path, change.text)


def remember_store(root: str) -> None:
    """A store was made here just now: as long as it stays so, it is ours to remove."""
    record = read_record(root)
    with open(os.path.join(root, STORE), "rb") as file:
        record.files[STORE] = Written(after=digest(file.read()))
    _write_record(root, record)


def plan_removal(root: str) -> list[Change]:
    """What `dibs init --remove` would do: `text` is what stays of a file that is changed."""
    record = read_record(root)
    changes = []
    for piece in pieces():
        text = read(root, piece.path)
        if text is None:
            continue
        known = record.files.get(piece.path)
        if known is not None and known.after == digest(text):
            left = known.before
        else:
            try:
                left = piece.take_out(text)
            except json_members.Unreadable:
                left = text
            if left is not None and known is not None and known.before is None and not left.strip():
                left = None
        if left == text:
            changes.append(Change(piece.path, "kept" if known is not None else "unchanged"))
            continue
        must_be_writable(root, piece.path)
        changes.append(Change(piece.path, "removed" if left is None else "changed", left))
    if os.path.exists(os.path.join(root, RECORD)):
        must_be_writable(root, RECORD)
    return changes


def remove(root: str, changes: list[Change]) -> list[Change]:
    """Undo what was planned; what was done in all, with `.dibs`. A store that was used is kept."""
    record = read_record(root)
    for change in changes:
        if change.change == "removed":
            os.unlink(_real(root, change.path))
        elif change.change == "changed":
            assert change.text is not None
            write(root, change.path, change.text)
    done = [change for change in changes if change.change != "unchanged"]
    store = _remove_store(root, record)
    if store is not None:
        done.append(Change(STORE, store))
    for path in (IGNORE, RECORD):
        # As long as there is a store, git shall not see it.
        if os.path.exists(os.path.join(root, path)) and (path == RECORD or store != "kept"):
            os.unlink(os.path.join(root, path))
    known = {f"{folder}/skills/dibs" for folder in (".claude", ".agents")} | {FOLDER, *record.folders}
    for folder in sorted(known, key=len, reverse=True):
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            pass  # it is not empty, or not there
    return done


def root_of(folder: str) -> str:
    """The folder of the repository around this one; itself, if there is none."""
    here = folder = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return here
        folder = above


def read_record(root: str) -> Record:
    """What was done here; nothing, if that cannot be read."""
    try:
        with open(os.path.join(root, RECORD), "rb") as file:
            return decode(file.read(), type=Record)
    except (OSError, DecodeError):
        return Record()


def read(root: str, path: str) -> str | None:
    """The text of a file, through symbolic links; None if there is none. Invalid if it is none of ours to read."""
    place = _real(root, path)
    if os.path.isdir(place):
        raise in_the_way(path, "is a folder.")
    try:
        with open(place, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        if os.path.islink(os.path.join(root, path)):
            raise in_the_way(path, "is a symbolic link to nothing; remove it first.") from None
        return None
    except UnicodeDecodeError:
        raise in_the_way(path, "is not UTF-8 text.") from None
    except OSError as error:
        raise in_the_way(path, f"cannot be read: {error.strerror}.") from None


def write(root: str, path: str, text: str) -> None:
    """Put a text into the place of a file, whole; its mode stays."""
    place = _real(root, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    mode = stat.S_IMODE(os.stat(place).st_mode) if os.path.exists(place) else 0o644
    fresh = f"{place}.dibs-new"
    try:
        with open(fresh, "w", encoding="utf-8", newline="") as file:
            os.chmod(fresh, mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, place)
    except OSError as error:
        if os.path.exists(fresh):
            os.unlink(fresh)
        why = f"{path} cannot be written: {error.strerror}. `dibs init --remove` undoes what was done before it."
        raise Unavailable(why, field=path) from None


def must_be_writable(root: str, path: str) -> None:
    """Invalid if a file, or the folder that it would be in, is not to be changed. Root could, and should not."""
    place = _real(root, path)
    if os.path.exists(place) and not os.stat(place).st_mode & 0o222:
        raise in_the_way(path, "is read-only; allow writing, or add what `dibs init --dry-run --json` shows yourself.")
    folder = os.path.dirname(place)
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder) or not os.stat(folder).st_mode & 0o222 or not os.access(folder, os.W_OK):
        raise in_the_way(path, f"cannot be written: {os.path.relpath(folder, root)} is read-only, or no folder.")


def missing_folders(root: str, path: str) -> list[str]:
    """The folders that have to be made for a file."""
    found = []
    folder = os.path.dirname(path)
    while folder and not os.path.exists(os.path.join(root, folder)):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


def in_the_way(path: str, why: str) -> Invalid:
    """Nothing is done because of this file."""
    return Invalid(f"{path} {why} Nothing was changed.", field=path)


def digest(text: str | bytes) -> str:
    """What tells whether somebody changed it."""
    from hashlib import sha256

    return sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def _real(root: str, path: str) -> str:
    """Where a file is. Links may lead anywhere below the folder, and nowhere else."""
    place = os.path.realpath(os.path.join(root, path))
    if os.path.commonpath((place, os.path.realpath(root))) != os.path.realpath(root):
        raise in_the_way(path, "is a symbolic link that leads out of this folder.")
    return place


def _json(path: str, section: str, server: str) -> Piece:
    ours = decode(server)

    def put(text: str | None) -> str:
        given = text if text is not None and text.strip() else "{}\n"
        return json_members.put(given, section, "dibs", server)

    def take_out(text: str) -> str | None:
        if json_members.value_at(text, section, "dibs") != ours:
            return text  # somebody made it his own
        left = json_members.take_out(text, section, "dibs")
        return None if left.strip() == "{}" and put(None) == text else left

    return Piece(path, put, take_out)


def _put_toml(text: str | None) -> str:
    import tomllib

    given = text or ""
    try:
        known = tomllib.loads(given.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise in_the_way(".codex/config.toml", f"is not TOML that can be read ({error}); mend it first.") from None
    servers = known.get("mcp_servers")
    is_ours = blocks.take_out(given, blocks.TOML) != given
    if isinstance(servers, dict) and "dibs" in servers and not is_ours:
        return given
    wanted = blocks.put(given, skill.CODEX_SERVER, blocks.TOML)
    try:
        tomllib.loads(wanted.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError:
        raise in_the_way(".codex/config.toml", "has mcp_servers in a form that nothing can be added to.") from None
    return wanted


def _remove_store(root: str, record: Record) -> str | None:
    """What became of the store: `removed` if it is as it was made, else `kept`; None: there is none."""
    path = os.path.join(root, STORE)
    if not os.path.exists(path):
        return None
    known = record.files.get(STORE)
    log = f"{path}-wal"
    used = os.path.exists(log) and os.path.getsize(log) > 0
    with open(path, "rb") as file:
        same = known is not None and known.after == digest(file.read())
    if used or not same:
        return "kept"
    for end in ("", "-wal", "-shm", "-lock", "-lock-next"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    return "removed"


def _write_record(root: str, record: Record) -> None:
    record.files = dict(sorted(record.files.items()))
    write(root, RECORD, format(encode(record), indent=1).decode() + "\n")
