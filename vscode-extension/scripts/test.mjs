// Bundles the unit tests (the pure parts need no editor) and runs them with Node's own test runner.
import { build } from "esbuild";
import { readdirSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";

const names = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
rmSync("out/test", { recursive: true, force: true });
await build({ entryPoints: names.map((name) => `test/${name}`), outdir: "out/test", bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, target: "node20", sourcemap: "inline", logLevel: "warning" });
const made = names.map((name) => `out/test/${name.replace(/\.ts$/, ".mjs")}`);
process.exit(spawnSync(process.execPath, ["--enable-source-maps", "--test", ...made], { stdio: "inherit" }).status ?? 1);
