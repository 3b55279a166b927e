/** The looks of the graph: in the page by the theme's own colours, in a saved file by fixed ones. */

const COLOURS: Record<string, string> = {
  page: "var(--vscode-editor-background)", ink: "var(--vscode-editor-foreground)",
  faint: "var(--vscode-descriptionForeground)", line: "var(--vscode-charts-lines, var(--vscode-descriptionForeground))",
  blue: "var(--vscode-charts-blue)", yellow: "var(--vscode-charts-yellow)", green: "var(--vscode-charts-green)",
  purple: "var(--vscode-charts-purple)", orange: "var(--vscode-charts-orange)",
  error: "var(--vscode-editorError-foreground)", warning: "var(--vscode-editorWarning-foreground)",
  hint: "var(--vscode-editorInfo-foreground)", focus: "var(--vscode-focusBorder)",
};

/** What colours are called in the style, for whoever replaces them. */
export const colourNames = Object.keys(COLOURS);

/** Stands for a colour with so many percent of it over the page. */
const tinted = (name: string, part: number): string => `${name}~${part}`;

const SHAPES: [string, string][] = [
  ["block", "$line"], ["branches", "$blue"], ["section", "$yellow"], ["claim", "$yellow"], ["items", "$green"],
  ["child", "$purple"], ["start", "$purple"], ["wait", "$orange"], ["pause", "$line"], ["broken", "$error"],
];

const STATES: [string, string][] = [
  ["running", "$blue"], ["waiting", "$yellow"], ["settled", "$green"], ["skipped", "$line"], ["failed", "$error"],
  ["stopped", "$line"], ["review", "$orange"],
];

const TEMPLATE = `
text{fill:$ink;font:12px system-ui,sans-serif}
.title{font:600 17px system-ui,sans-serif}.note,.lane,.mark{fill:$faint}.lane{font-weight:600}
.name{font:600 13px system-ui,sans-serif}.code{font:11.5px ui-monospace,monospace}
.box{stroke-width:1.3}.line{fill:none;stroke-width:1.4;stroke:$line}
.line.loop{stroke:$orange;stroke-dasharray:5 3}.line.jump{stroke:$blue}.end,.tip.jump{fill:$blue}
.tip.flow{fill:$line}.tip.loop{fill:$orange}.band{fill:$yellow;opacity:.6}
.frame{fill:none;stroke:$faint;stroke-opacity:.45;stroke-dasharray:3 3}
${SHAPES.map(([name, colour]) => `.${name}>.box{fill:${tinted(colour, 9)};stroke:${tinted(colour, 70)}}`).join("\n")}
.badge-error{fill:$error}.badge-warning{fill:$warning}.badge-hint{fill:$hint}
.has-error>.box{stroke:$error;stroke-width:2.2}.has-warning>.box{stroke:$warning;stroke-width:2}
.badge-text{fill:$page;font:700 10px system-ui,sans-serif;text-anchor:middle}
.state{font:600 10.5px system-ui,sans-serif;text-anchor:end}
${STATES.map(([name, colour]) => `.is-${name}>.box{stroke:${colour};stroke-width:2.4;fill:${tinted(colour, 20)}}`).join("\n")}
.is-skipped>.box{stroke-dasharray:4 3}.is-skipped>.name,.is-skipped>.code,.is-skipped>.mark{opacity:.7}
`;

type Mix = (colour: string, percent: number, page: string) => string;

/** The style with the colours that a function gives for their names. */
export function styleWith(colour: (name: string) => string, mix: Mix = mixed): string {
  return TEMPLATE.replace(/\$([a-z]+)(?:~(\d+))?/g, (_, name: string, part: string | undefined) =>
    part === undefined ? colour(name) : mix(colour(name), Number(part), colour("page")),
  ).trim();
}

/** The style of the page: it follows the theme. */
export const pageStyle = styleWith(
  (name) => COLOURS[name] ?? "currentColor",
  (colour, percent, page) => `color-mix(in srgb, ${colour} ${percent}%, ${page})`,
);

/** Two colours mixed into one that every reader of SVG knows; the first where they cannot be read. */
export function mixed(colour: string, percent: number, page: string): string {
  const [over, under] = [channels(colour), channels(page)];
  if (over === undefined || under === undefined) return colour;
  const hex = over.map((one, at) => Math.round((one * percent + (under[at] ?? 0) * (100 - percent)) / 100));
  return `#${hex.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

/** Red, green and blue of `#rgb`, `#rrggbb`, `#rrggbbaa`, `rgb()` or `rgba()`. */
function channels(colour: string): number[] | undefined {
  const hex = /^#([0-9a-f]{3,8})$/i.exec(colour)?.[1];
  if (hex !== undefined && hex.length >= 6) return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  if (hex !== undefined) return [0, 1, 2].map((at) => Number.parseInt((hex[at] ?? "0").repeat(2), 16));
  const found = /^rgba?\(\s*(\d+)[,\s]+(\d+)[,\s]+(\d+)/.exec(colour);
  return found === null ? undefined : found.slice(1, 4).map(Number);
}

/** The variable of the theme behind a colour's name. */
export const variableOf = (name: string): string => /--[\w-]+/.exec(COLOURS[name] ?? "")?.[0] ?? "";
