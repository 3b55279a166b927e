// Makes the .vsix: the wheel of the program that it brings along, the bundles, and the package itself, which
// has to stay small.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";

const LARGEST = 1_000_000;
const RESULT = "interlock-workflows.vsix";

const pythons = [process.env.INTERLOCK_PYTHON, "../.venv/bin/python", "../.venv/Scripts/python.exe"].filter((one) => one && existsSync(one));
const run = (program, args) => {
  const ended = spawnSync(program, args, { stdio: "inherit" });
  if (ended.status !== 0) {
    console.error(`${program} ${args[0]} failed${ended.error ? `: ${ended.error.message}` : ""}.`);
    process.exit(1);
  }
};

rmSync("dist", { recursive: true, force: true });
run(pythons[0] ?? "python3", ["scripts/wheel.py", "dist/program"]);
run(process.execPath, [
  "node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--allow-missing-repository", "--no-rewrite-relative-links", "--out", RESULT,
]);
const { size } = statSync(RESULT);
console.log(`${RESULT}: ${Math.round(size / 1000)} kB`);
if (size >= LARGEST) {
  console.error(`That is too large: ${LARGEST / 1000} kB is the limit.`);
  process.exit(1);
}
