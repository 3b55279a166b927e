/**
 * Where the program `interlock` is looked for, and in which order. Pure: what exists is asked of the caller,
 * and nothing is executed here.
 */
import * as paths from "node:path";

export interface Surroundings {
  platform: NodeJS.Platform;
  /** The setting `interlock.path`; empty where it is not set. */
  setting: string;
  home: string;
  /** The folders of the workspace. */
  folders: readonly string[];
  /** The Python extension's interpreter. */
  interpreter: string | undefined;
  /** The environment variable PATH. */
  path: string | undefined;
  /** The environment that this extension makes for itself. */
  own: string;
  trusted: boolean;
  exists(path: string): boolean;
}

export type Origin = "setting" | "workspace" | "interpreter" | "path" | "own";

export interface Found {
  path: string;
  origin: Origin;
}

const ENVIRONMENTS = [".venv", "venv", "env", ".env"];

/** The folder of a virtual environment's programs. */
export function programsOf(environment: string, platform: NodeJS.Platform): string {
  return flavour(platform).join(environment, platform === "win32" ? "Scripts" : "bin");
}

/** Every `interlock` there is, the one to take first. A setting that is set excludes all others. */
export function candidates(here: Surroundings): Found[] {
  const { join, dirname } = flavour(here.platform);
  const program = here.platform === "win32" ? "interlock.exe" : "interlock";
  if (here.setting !== "") {
    const path = resolved(here);
    return path !== undefined && here.exists(path) ? [{ path, origin: "setting" }] : [];
  }
  const found: Found[] = [];
  const look = (folder: string, origin: Origin): void => {
    const path = join(folder, program);
    if (!found.some((one) => one.path === path) && here.exists(path)) found.push({ path, origin });
  };
  if (here.trusted) {
    for (const folder of here.folders)
      for (const name of ENVIRONMENTS) look(programsOf(join(folder, name), here.platform), "workspace");
    if (here.interpreter !== undefined) look(dirname(here.interpreter), "interpreter");
  }
  for (const folder of searchPath(here)) look(folder, "path");
  look(programsOf(here.own, here.platform), "own");
  return found;
}

/** The setting as a path; undefined where it leads into a workspace that nobody trusts. */
function resolved(here: Surroundings): string | undefined {
  const { isAbsolute, join, normalize } = flavour(here.platform);
  let text = here.setting;
  if (text === "~" || text.startsWith("~/") || text.startsWith("~\\")) text = here.home + text.slice(1);
  const folder = here.folders[0];
  if (folder !== undefined) text = text.replaceAll("${workspaceFolder}", folder);
  if (!isAbsolute(text)) {
    if (folder === undefined) return undefined;
    text = join(folder, text);
  }
  text = normalize(text);
  return !here.trusted && inside(text, here) ? undefined : text;
}

/** The folders of PATH. Relative ones, and in an untrusted workspace those inside of it, do not count. */
function searchPath(here: Surroundings): string[] {
  const { delimiter, isAbsolute } = flavour(here.platform);
  return (here.path ?? "")
    .split(delimiter)
    .map((one) => one.replace(/^"(.*)"$/, "$1"))
    .filter((one) => isAbsolute(one) && (here.trusted || !inside(one, here)));
}

function inside(path: string, here: Surroundings): boolean {
  const { relative, isAbsolute } = flavour(here.platform);
  return here.folders.some((folder) => {
    const way = relative(folder, path);
    return way === "" || (way.split(/[\\/]/)[0] !== ".." && !isAbsolute(way));
  });
}

function flavour(platform: NodeJS.Platform): paths.PlatformPath {
  return platform === "win32" ? paths.win32 : paths.posix;
}

/** The version that `interlock --version` tells; undefined where another program answered. */
export function versionOf(output: string): string | undefined {
  return /^interlock (\d+\.\S+)\s*$/.exec(output)?.[1];
}

/** The version in the name of a wheel of Interlock. */
export function broughtVersion(name: string): string | undefined {
  return /^interlock-([^-]+)-.*\.whl$/.exec(name)?.[1];
}

/** What venv or pip say is the matter, as one sentence; undefined where they do not say it in a known way. */
export function notMade(output: string): string | undefined {
  if (/ensurepip is not available/.test(output)) return "this Python cannot make environments; install its package for venv (on Debian python3-venv), and try again.";
  return [...output.matchAll(/^ERROR: (.+)$/gm)].at(-1)?.[1];
}

/** Whether `python --version` tells of one that Interlock runs on. */
export function suitsInterlock(output: string): boolean {
  const found = /^Python (\d+)\.(\d+)/.exec(output);
  return found !== null && (Number(found[1]) > 3 || (Number(found[1]) === 3 && Number(found[2]) >= 11));
}

/** The interpreters that a new environment can be made with, by platform. */
export function interpreters(platform: NodeJS.Platform): { command: string; args: string[] }[] {
  const versions = ["3.13", "3.12", "3.11", "3.14"];
  if (platform === "win32")
    return [...versions.map((one) => ({ command: "py", args: [`-${one}`] })), { command: "python", args: [] }];
  return [...versions.map((one) => ({ command: `python${one}`, args: [] })), { command: "python3", args: [] }];
}
