/** Comments that speak to Interlock: the modeline and suppressions. Pure. */

const MODELINE = /^\uFEFF?\s*#[ \t]*interlock:[ \t]*workflow[ \t]*(?:\r?\n|$)/;

/** Whether the first comment of a text says that it is a workflow. */
export function hasModeline(text: string): boolean {
  return MODELINE.test(text);
}

/** The rule that a suppression names where the cursor is. */
export function suppressed(line: string, character: number): string | undefined {
  const found = /#\s*interlock:\s*ignore\[([^\]]*)\]/.exec(line);
  if (found?.[1] === undefined) return undefined;
  const start = found.index + found[0].lastIndexOf("[") + 1;
  if (character < start || character > start + found[1].length) return undefined;
  let at = start;
  for (const part of found[1].split(",")) {
    if (character <= at + part.length) return part.trim() || undefined;
    at += part.length + 1;
  }
  return undefined;
}
