#!/usr/bin/env python3
"""Checks the subjects of commits: `area: Verb object`, at most 72 characters.

usage: check_commits.py [--self-test] [RANGE]

RANGE is one of git's, such as main..HEAD. Without it, the commits since the
branch left the main branch's upstream are checked; where there is no upstream,
or its history is not here (a shallow clone), only the last commit is. Merges
are exempt, and so are commits from before this check came to the tree. An area is the name of a folder or of a file without its ending;
several are separated by commas.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import csource

MOST = 72
SUBJECT = re.compile(r"([a-z0-9][\w./-]*(?:, [a-z0-9][\w./-]*)*): (\S+)(.*)$")

# Areas that are no folder or file.
AREAS = {"ci", "build", "release", "tree"}

NO_VERB = set("""a an the what who whose which whether of those these this that
it they one some all each every no not nothing nobody on in at for with by from
to when where while if also only two three more most new old""".split())
# Plurals and the third person end in s, the past in ed, the gerund in ing.
ENDINGS = re.compile(r"(?<!s)s$|(?<![eu])ed$|ing$")
VERBS = set("""bring embed focus seed shed speed need feed canvas ping bias
string""".split())


def git(root, *words):
    """What git prints; None if it fails or is not there."""
    try:
        run = subprocess.run(["git", "-C", str(root), *words], text=True,
                             capture_output=True, check=False)
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def problem_of(subject, areas):
    """What is wrong with a subject; None if nothing is."""
    if len(subject) > MOST:
        return f"has {len(subject)} characters, {MOST} are allowed"
    match = SUBJECT.match(subject)
    if not match:
        return "is not `area: Verb object`"
    for area in match[1].split(", "):
        if area not in areas:
            return f"has the area '{area}', which is no folder or file"
    verb = match[2].lower()
    if not match[2][0].isupper() or not verb.isalpha():
        return f"begins with '{match[2]}', not with a verb in capitals"
    if verb in NO_VERB or (ENDINGS.search(verb) and verb not in VERBS):
        return f"begins with '{match[2]}': say what the commit does (Add, Fix)"
    if not match[3].strip():
        return "has no object"
    if subject.endswith("."):
        return "ends in a full stop"
    return None


def areas_of(root):
    areas = set(AREAS)
    for name in (git(root, "ls-files") or "").splitlines():
        path = pathlib.PurePosixPath(name)
        areas.add(path.name.split(".")[0] or path.name)
        for folder in path.parents:
            areas.update((folder.name, str(folder), folder.name.lstrip(".")))
    return areas


def base_of(root):
    """Where the branch left the main branch's upstream; None if unknown."""
    names = ["main@{upstream}", "master@{upstream}", "origin/HEAD"]
    target = os.environ.get("GITHUB_BASE_REF")
    if target:
        names.insert(0, f"origin/{target}")
    for name in names:
        if git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            return git(root, "merge-base", "HEAD", name)
    return None


def came_with(root):
    """The commit, or merge, that brought this check; None if unknown."""
    return git(root, "log", "-1", "--first-parent", "-m", "--diff-filter=A",
               "--format=%H", "--", "tools/check_commits.py")


def commits(root, chosen):
    """(short name, subject) of the commits to check."""
    shape = ["--no-merges", "--format=%h %s"]
    base = None if chosen else base_of(root)
    if chosen:
        listing = git(root, "log", *shape, chosen)
    elif base and base != git(root, "rev-parse", "HEAD"):
        older = came_with(root)
        listing = git(root, "log", *shape, f"{base}..HEAD",
                      *([f"^{older}"] if older else []))
    else:
        # In a shallow clone a merge has no parents, and its subject tells.
        listing = git(root, "log", "-1", *shape, "HEAD^!") \
            or git(root, "log", "-1", *shape)
        if git(root, "rev-parse", "--verify", "--quiet", "HEAD^2"):
            listing = ""
    for line in (listing or "").splitlines():
        name, _, subject = line.partition(" ")
        if not re.match(r"(Merge|Revert) ", subject):
            yield name, subject


def check(root, chosen=None):
    areas = areas_of(root)
    found = list(commits(root, chosen))
    problems = [f"{name} '{subject}': {problem}" for name, subject in found
                if (problem := problem_of(subject, areas))]
    return len(found), problems


CASES = [
    # (subject, what must be said; None for nothing)
    ("core: Add a queue", None),
    ("src/core, a: Pass buffers on", None),
    ("a: Bring the queue back", None),
    ("ci: Process the last commit", None),
    ("core: " + "Add " + "x" * 62, None),
    ("core: " + "Add " + "x" * 63, "73 characters"),
    ("Add a queue", "is not"),
    ("core: add a queue", "not with a verb"),
    ("engine: Add a queue", "no folder or file"),
    ("core: The queue is kept", "say what"),
    ("core: Who waits is told", "say what"),
    ("core: Added a queue", "say what"),
    ("core: Adds a queue", "say what"),
    ("core: Queues are kept", "say what"),
    ("core: Keeping a queue", "say what"),
    ("core: Add", "no object"),
    ("core: Add a queue.", "full stop"),
]


def make_tree(root):
    def run(*words):
        subprocess.run(["git", "-C", str(root), *words], check=True,
                       capture_output=True)

    run("init", "-q", "-b", "main")
    run("config", "user.name", "a")
    run("config", "user.email", "a@example.com")
    (root / "src/core").mkdir(parents=True)
    (root / "src/core/a.c").write_text("int a;\n")
    run("add", "-A")
    run("commit", "-qm", "the first one is not checked later")
    return run


def self_test_range(root, problems):
    """Which commits are checked: with, without an upstream, after a merge."""
    def expect(what, folder, wanted):
        count, _ = check(folder)
        if count != wanted:
            problems.append(f"{what}: {count} commits checked, not {wanted}")

    origin, clone, shallow = root / "o", root / "c", root / "s"
    origin.mkdir()
    run = make_tree(origin)
    expect("no upstream", origin, 1)
    run("clone", "-q", str(origin), str(clone))
    for text in ("core: Add b", "core: Add c"):
        subprocess.run(["git", "-C", str(clone), "-c", "user.name=a", "-c",
                        "user.email=a@example.com", "commit", "-q",
                        "--allow-empty", "-m", text], check=True)
    expect("two commits ahead", clone, 2)
    run("checkout", "-qb", "side")
    run("commit", "-q", "--allow-empty", "-m", "core: Add d")
    run("checkout", "-q", "main")
    run("commit", "-q", "--allow-empty", "-m", "core: Add e")
    run("merge", "-q", "--no-ff", "-m", "Merge d", "side")
    expect("a merge", origin, 0)
    run("clone", "-q", "--depth", "1", f"file://{origin}", str(shallow))
    expect("a shallow clone of a merge", shallow, 0)
    expect("no repository", root / "none", 0)


def self_test():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        if git(root, "--version") is None:
            print("check_commits self-test: skipped without git")
            return 0
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
                     "GITHUB_BASE_REF"):
            os.environ.pop(name, None)
        os.environ.update(GIT_CONFIG_GLOBAL="/dev/null",
                          GIT_CONFIG_NOSYSTEM="1")
        tree = root / "t"
        tree.mkdir()
        make_tree(tree)
        areas = areas_of(tree)
        for subject, expected in CASES:
            found = problem_of(subject, areas)
            if (found is None) != (expected is None) \
                    or (expected and expected not in found):
                problems.append(f"{subject!r}: expected {expected!r}, "
                                f"found {found!r}")
        self_test_range(root, problems)
    return csource.report(problems, "check_commits self-test")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    checked, breaches = check(csource.ROOT, *sys.argv[1:2])
    print(f"  {checked} commits")
    sys.exit(csource.report(breaches, "subjects of commits"))
