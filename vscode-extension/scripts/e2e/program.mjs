// The program: where it is found, that the server comes back, and an environment where there is none.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { said, squiggles, until } from "./editor.mjs";

/** A server that is killed comes back by itself; a restart by hand is there too. */
export async function restarts(editor, folder) {
  await editor.clear();
  await editor.open("plain.yaml");
  await until("squiggles", () => squiggles(editor));
  for (const pid of servers(editor)) process.kill(pid, "SIGKILL");
  await editor.goTo(3, 1);
  await editor.page.keyboard.press("Control+x"); // the line goes
  await until("a check by the new server", async () => (await squiggles(editor)) === 1 && servers(editor).length === 1);
  const [before] = servers(editor);
  await editor.command("Interlock: Restart Language Server");
  await until("another server", () => servers(editor).length === 1 && servers(editor)[0] !== before);
  await editor.page.keyboard.press("Control+z");
  await until("a check by the server that was restarted", async () => (await squiggles(editor)) === 2);
  await editor.command("File: Revert File");
  said("the server comes back when it is killed, and on command");
}

/** The language servers of this editor. */
function servers(editor) {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0lsp\0--log-level") && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${editor.home}\0`);
    } catch {
      return false; // it has ended meanwhile
    }
  }).map(Number);
}

/** The workspace's environment goes before the PATH, and the setting before both. */
export async function order(editor, folder, programs) {
  const told = (where) => until(`the program found ${where}`, () => editor.log().includes(`, found ${where}: `));
  await told("on the PATH");
  mkdirSync(join(folder, ".venv/bin"), { recursive: true });
  const link = join(folder, ".venv/bin/interlock");
  symlinkSync(join(programs, "interlock"), link);
  await editor.command("Interlock: Restart Language Server");
  await told("in the workspace's virtual environment");
  editor.set({ "interlock.path": join(programs, "interlock") });
  await told("by the setting interlock.path");
  editor.set({});
  unlinkSync(link);
  said("the program is taken from the setting, else the workspace's environment, else the PATH");
}

/** Where there is no program: an environment that cannot be made, and one that can. */
export async function makes(editor) {
  await editor.load();
  await editor.open("broken.workflow.yaml");
  const offer = editor.notification("was not found");
  await offer.waitFor();
  await editor.page.locator('.statusbar-item[aria-label*="was not found"]').waitFor();
  await editor.view();
  await editor.page.locator(".sidebar .welcome-view .monaco-button", { hasText: "Make an Environment" }).waitFor();
  await editor.shot("offer");
  await offer.locator(".monaco-button", { hasText: "Make an Environment" }).click();
  const failed = editor.notification("could not be made");
  await until("what went wrong is said", () => failed.count(), 300_000);
  await until("the reason", async () => /no-such-wheel/.test(await failed.innerText()));
  await editor.shot("not-made");
  editor.set({ "interlock.package": "" });
  await editor.load();
  await editor.open("broken.workflow.yaml");
  await offer.locator(".monaco-button", { hasText: "Make an Environment" }).click();
  await until("progress", () => editor.page.locator(".notification-list-item", { hasText: /making the environment|installing interlock/ }).count(), 300_000);
  await editor.shot("making");
  await until("squiggles by the program that was installed", () => squiggles(editor), 600_000);
  await until("where it was found", () => editor.log().includes("found in the environment of this extension"));
  await editor.shot("made");
  said("no program: an environment that could not be made, and one that was");
}

/** A folder with another program of the same name, which is not to be taken for this one. */
export function another(base) {
  const folder = join(base, "bin");
  mkdirSync(folder);
  writeFileSync(join(folder, "interlock"), "#!/bin/sh\necho 'some other interlock 1.0'\n", { mode: 0o755 });
  return folder;
}
