/** Starts programs: always from an argument list, never through a shell. */
import { spawn, type ChildProcess } from "node:child_process";
import { Lines } from "../runs/events.ts";
import type { Command } from "./commandline.ts";

export interface Ended {
  /** The exit code; undefined where a signal ended the program or it could not be started. */
  code: number | undefined;
  stdout: string;
  stderr: string;
}

export interface Surroundings {
  cwd?: string | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  /** Milliseconds after which the program is ended. */
  timeout?: number | undefined;
}

const UTF8 = { PYTHONUTF8: "1", PYTHONIOENCODING: "utf-8", NO_COLOR: "1" };

function start(program: string, command: Command, where: Surroundings): ChildProcess {
  const child = spawn(program, command.args, {
    cwd: where.cwd,
    env: { ...process.env, ...UTF8, ...where.env },
    shell: false,
    windowsHide: true,
    timeout: where.timeout,
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin?.on("error", () => undefined); // it may end before it has read everything
  child.stdin?.end(command.input ?? "");
  child.stdout?.setEncoding("utf8");
  child.stderr?.setEncoding("utf8");
  return child;
}

/** Runs a program to its end. Never rejects: a program that cannot be started has no code and says why. */
export function perform(program: string, command: Command, where: Surroundings = {}): Promise<Ended> {
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    const child = start(program, command, where);
    child.stdout?.on("data", (text: string) => (stdout += text));
    child.stderr?.on("data", (text: string) => (stderr += text));
    child.on("error", (error) => resolve({ code: undefined, stdout, stderr: stderr || error.message }));
    child.on("close", (code) => resolve({ code: code ?? undefined, stdout, stderr }));
  });
}

export interface Stream {
  /** Settles when the program has ended, with its exit code. */
  ended: Promise<number | undefined>;
  stop(): void;
}

/** Runs a program and hands over what it writes, line by line. */
export function stream(
  program: string, command: Command, where: Surroundings,
  out: (line: string) => void, err: (line: string) => void = () => undefined,
): Stream {
  const child = start(program, command, where);
  const [written, said] = [new Lines(out), new Lines(err)];
  child.stdout?.on("data", (text: string) => written.push(text));
  child.stderr?.on("data", (text: string) => said.push(text));
  const ended = new Promise<number | undefined>((resolve) => {
    child.on("error", (error) => {
      err(error.message);
      resolve(undefined);
    });
    child.on("close", (code) => {
      written.end();
      said.end();
      resolve(code ?? undefined);
    });
  });
  return { ended, stop: () => void child.kill() };
}

/** What a failed command says in one sentence, without the program's name before it. */
export function complaint(ended: Ended): string {
  const text = (ended.stderr.trim() || ended.stdout.trim()).split("\n").at(-1) ?? "";
  return text.replace(/^interlock( \w+)?: /, "") || `It ended with code ${ended.code ?? "none"}.`;
}
