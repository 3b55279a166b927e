/** What a run asks of a person: put as a notification, or answered from the tree. */
import * as vscode from "vscode";
import * as commands from "../program/commandline.ts";
import type { Decision, Place } from "../program/commandline.ts";
import { say, type Desk } from "./desk.ts";
import type { StepProgress } from "./events.ts";

export interface Asked {
  place: Place;
  run: string;
  workflow: string;
}

export class Questions {
  constructor(private readonly desk: Desk) {}

  /**
   * Puts the question of a step that waits. A notification stays until it is closed, so an answer counts only
   * while the step still waits: a signal to a later wait is not what was asked.
   */
  async put(asked: Asked, step: StepProgress, open: () => boolean): Promise<void> {
    const where = `${asked.workflow}, ${step.path}`;
    const still = (answer: string | undefined): boolean => {
      if (answer === undefined) return false;
      if (!open()) void vscode.window.showInformationMessage(`${where} does not wait any more; nothing was sent.`);
      return open();
    };
    switch (step.asks?.kind) {
      case "decision": {
        const answer = await vscode.window.showInformationMessage(`${where} waits for your decision.`, "Approve", "Reject");
        if (still(answer)) await (answer === "Approve" ? this.approve(asked) : this.reject(asked));
        return;
      }
      case "approval": {
        const answer = await vscode.window.showInformationMessage(`${where} waits for your approval.`, "Approve");
        if (still(answer)) await this.approve(asked);
        return;
      }
      case "review": {
        const answer = await vscode.window.showWarningMessage(`${where} is held for review: ${step.asks.reason}`, "Settle Review…");
        if (still(answer)) await this.review(asked, step.path);
        return;
      }
      case "signal": {
        const { names } = step.asks;
        const answer = await vscode.window.showInformationMessage(`${where} waits for ${names.map((one) => `"${one}"`).join(", ")}.`, "Send Signal…");
        if (still(answer)) await this.signal(asked, names);
      }
    }
  }

  approve(asked: Asked): Promise<void> {
    return this.#send(asked, commands.approve(asked.place, asked.run, {}));
  }

  async reject(asked: Asked): Promise<void> {
    const reason = await vscode.window.showInputBox({ title: "Reject", prompt: "Why? (may be left empty)" });
    if (reason === undefined) return;
    await this.#send(asked, commands.reject(asked.place, asked.run, reason === "" ? {} : { reason }));
  }

  async signal(asked: Asked, names: readonly string[]): Promise<void> {
    const name = names.length === 1 ? names[0] : names.length > 1
      ? await vscode.window.showQuickPick([...names], { title: "Which signal?" })
      : await vscode.window.showInputBox({ title: "Send Signal", prompt: "The name of the signal" });
    if (name === undefined || name === "") return;
    const data = await json(`What goes with "${name}"`, "{}");
    if (data !== undefined) await this.#send(asked, commands.signal(asked.place, asked.run, name, data.value));
  }

  async review(asked: Asked, path?: string): Promise<void> {
    const rows: (vscode.QuickPickItem & { decision: Decision })[] = [
      { label: "Committed", description: "the write happened; the run goes on with its result", decision: "committed" },
      { label: "Not committed", description: "nothing was written; the section runs again", decision: "not-committed" },
      { label: "Abandon", description: "the run fails, and the lease is released", decision: "abandon" },
    ];
    const chosen = await vscode.window.showQuickPick(rows, {
      title: `What became of the write${path ? ` of ${path}` : ""}?`,
      ignoreFocusOut: true, // the graph and the view draw themselves anew meanwhile
    });
    if (chosen === undefined) return;
    const result = chosen.decision === "committed" ? await json("The section's outputs", "{}") : { value: undefined };
    if (result === undefined) return;
    await this.#send(asked, commands.review(asked.place, asked.run, chosen.decision, path, result.value));
  }

  async #send(asked: Asked, command: commands.Command): Promise<void> {
    try {
      await this.desk.succeed(asked.place, command);
    } catch (error) {
      say(error);
    }
  }
}

/** A JSON value that a person writes; undefined where they changed their mind. */
async function json(title: string, value: string): Promise<{ value: unknown } | undefined> {
  const text = await vscode.window.showInputBox({
    title, value, prompt: "As JSON", ignoreFocusOut: true,
    validateInput: (one) => {
      try {
        JSON.parse(one);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },
  });
  return text === undefined ? undefined : { value: JSON.parse(text) as unknown };
}
