import assert from "node:assert/strict";
import { test } from "node:test";
import { broughtVersion, candidates, notMade, suitsInterlock, versionOf, type Surroundings } from "../src/program/finding.ts";

const here = (files: string[], more: Partial<Surroundings> = {}): Surroundings => ({
  platform: "linux", setting: "", home: "/home/ada", folders: ["/w"], interpreter: undefined, path: "/usr/bin:/bin",
  own: "/store/environment", trusted: true, exists: (path) => files.includes(path), ...more,
});

const ALL = ["/w/.venv/bin/interlock", "/py/bin/interlock", "/usr/bin/interlock", "/store/environment/bin/interlock"];

test("the workspace's environment comes first, then the interpreter's, the PATH, and one's own", () => {
  const found = candidates(here(ALL, { interpreter: "/py/bin/python" }));
  assert.deepEqual(found.map((one) => one.origin), ["workspace", "interpreter", "path", "own"]);
  assert.deepEqual(found.map((one) => one.path), ALL);
});

test("a setting excludes all others, also where it leads nowhere", () => {
  assert.deepEqual(candidates(here([...ALL, "/opt/interlock"], { setting: "/opt/interlock" })), [{ path: "/opt/interlock", origin: "setting" }]);
  assert.deepEqual(candidates(here(ALL, { setting: "/opt/gone" })), []);
});

test("a setting may name the home, the workspace, or a path in it", () => {
  for (const [setting, path] of [["~/bin/interlock", "/home/ada/bin/interlock"], ["${workspaceFolder}/x", "/w/x"], ["tools/x", "/w/tools/x"]] as const)
    assert.deepEqual(candidates(here([path], { setting })), [{ path, origin: "setting" }]);
});

test("in an untrusted workspace nothing that lies in it is taken", () => {
  const files = ["/w/.venv/bin/interlock", "/w/bin/interlock", "/usr/bin/interlock"];
  const found = candidates(here(files, { trusted: false, path: "/w/bin:./bin:/usr/bin", interpreter: "/w/.venv/bin/python" }));
  assert.deepEqual(found, [{ path: "/usr/bin/interlock", origin: "path" }]);
  assert.deepEqual(candidates(here(files, { trusted: false, setting: "/w/bin/interlock" })), []);
});

test("a folder whose name begins like the workspace's is outside of it", () => {
  const found = candidates(here(["/w2/interlock", "/w..x/interlock"], { trusted: false, path: "/w2:/w..x" }));
  assert.deepEqual(found.map((one) => one.path), ["/w2/interlock", "/w..x/interlock"]);
});

test("a relative entry of PATH never counts", () => {
  assert.deepEqual(candidates(here(["bin/interlock", "interlock"], { path: "bin::." })), []);
});

test("on Windows the program has its ending and its folders", () => {
  const path = "C:\\w\\.venv\\Scripts\\interlock.exe";
  const found = candidates(here([path, "D:\\p q\\interlock.exe"], { platform: "win32", folders: ["C:\\w"], path: "C:\\x;\"D:\\p q\"", own: "C:\\own" }));
  assert.deepEqual(found.map((one) => one.path), [path, "D:\\p q\\interlock.exe"]);
});

test("another program of the name is not taken for this one", () => {
  assert.equal(versionOf("interlock 0.1.0\n"), "0.1.0");
  assert.equal(versionOf("Interlock security suite 9\n"), undefined);
});

test("the wheel that came along tells its version by its name", () => {
  assert.equal(broughtVersion("interlock-0.2.0rc1-py3-none-any.whl"), "0.2.0rc1");
  assert.equal(broughtVersion("interlocking-0.2.0-py3-none-any.whl"), undefined);
});

test("why an environment could not be made is one sentence", () => {
  assert.match(notMade("The virtual environment was not created successfully because ensurepip is not available.\n\nFailing command: python3 -m ensurepip\n") ?? "", /python3-venv/);
  assert.equal(notMade("Looking…\nERROR: Could not find x\nERROR: No matching distribution found for x\nWARNING: y\n"), "No matching distribution found for x");
  assert.equal(notMade("Killed\n"), undefined);
});

test("Python 3.11 and newer will do", () => {
  assert.deepEqual(["Python 3.10.9", "Python 3.11.2", "Python 3.14.0rc1", "Python 4.0", "Python 2.7", "x"].map(suitsInterlock), [false, true, true, true, false, false]);
});
