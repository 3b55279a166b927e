/** The page of the graph: shows what the extension sends, and says what was clicked. */
import type { Graph, GraphNode, Mark } from "../src/graph/model.ts";
import { HEAD, nodesOf } from "../src/graph/model.ts";
import type { Painted } from "../src/runs/events.ts";
import { draw, labelOf, shape, svgText, type Shape } from "./draw.ts";
import { first, fit, kept, reveal, zoom, type Sight } from "./sight.ts";
import { colourNames, pageStyle, styleWith, variableOf } from "./style.ts";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; getState(): unknown; setState(state: unknown): void };

type Message =
  | { type: "graph"; graph: Graph; remembered: unknown }
  | { type: "marks"; marks: Record<string, Mark> }
  | { type: "states"; states: Record<string, Painted>; status: string }
  | { type: "cursor"; path: string | null; reveal: boolean }
  | { type: "problem"; text: string }
  | { type: "export" };

const SVG = "http://www.w3.org/2000/svg";
const vscode = acquireVsCodeApi();
const stage = element("stage");
const status = element("status");
const problem = element("problem");
const picture = document.createElementNS(SVG, "g");

let graph: Graph | undefined;
let nodes = new Map<string, GraphNode>();
let groups = new Map<string, SVGGElement>();
let marks: Record<string, Mark> = {};
let states: Record<string, Painted> = {};
let sight: Sight = { x: 0, y: 0, scale: 1 };
/** Whether the person has chosen what is seen: a part, or the whole. */
let moved = false;
let whole = false;
let current: string | null = null;

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element "${id}".`);
  return found;
}

function made(given: Shape): SVGElement {
  const found = document.createElementNS(SVG, given.tag);
  for (const [name, value] of Object.entries(given.attrs)) found.setAttribute(name, String(value));
  if (given.text !== undefined) found.textContent = given.text;
  for (const child of given.children) found.append(made(child));
  return found;
}

// -- showing ---------------------------------------------------------------------------------------

function show(next: Graph, remembered: unknown): void {
  const another = graph?.workflow !== next.workflow || graph.file !== next.file;
  const began = performance.now();
  graph = next;
  nodes = new Map(nodesOf(next).map((node) => [node.path, node]));
  picture.replaceChildren(...draw(next).map(made));
  groups = new Map();
  for (const group of picture.querySelectorAll<SVGGElement>("g.node")) groups.set(group.dataset["path"] ?? "", group);
  stage.setAttribute("aria-label", `Graph of ${next.workflow}, ${nodes.size} steps`);
  if (another) {
    moved = whole = false;
    take({}, "");
  }
  paint();
  choose(current !== null && groups.has(current) ? current : null, false);
  if (another) look(first(next, room()));
  else if (!moved) look(whole ? fit(next, room()) : first(next, room()));
  problem.textContent = "";
  vscode.setState(remembered);
  stage.dataset["drawn"] = (performance.now() - began).toFixed(1);
}

const cornerOf = (node: GraphNode): { x: number; y: number } => ({ x: node.x + node.width - 2, y: node.y + 2 });

/** Where the badge of what is wrong outside of all steps stands: before the title. */
const BEFORE_TITLE = { x: 12, y: 27 };

/** Puts findings and the run's states on the nodes. */
function paint(): void {
  for (const old of picture.querySelectorAll(":scope > .painted")) old.remove();
  const head = marks[HEAD];
  if (head !== undefined) {
    const group = shape("g", { class: "painted head", role: "img", "aria-label": head.messages.join(", ") }, [
      shape("title", {}, [], head.messages.join("\n")), ...badge(BEFORE_TITLE, head),
    ]);
    picture.append(made(group));
  }
  for (const [path, group] of groups) {
    const node = nodes.get(path);
    if (node === undefined) continue;
    const [mark, state] = [marks[path], states[path]];
    const names = ["node", node.shape];
    if (mark !== undefined) names.push(`has-${mark.severity}`);
    if (state !== undefined) names.push(`is-${state.state}`);
    if (path === current) names.push("current");
    group.setAttribute("class", names.join(" "));
    for (const old of group.querySelectorAll(".painted")) old.remove();
    if (mark !== undefined) group.append(...badge(cornerOf(node), mark).map(made));
    if (state !== undefined) group.append(made(stateText(node, state)));
    const said = [labelOf(node), ...(state ? [`${state.title} ${state.text}`.trim()] : []), ...(mark?.messages ?? [])];
    group.setAttribute("aria-label", said.join(", "));
    const title = group.querySelector("title");
    if (title !== null) title.textContent = said.join("\n");
  }
}

/** The states of a run, and a word on the whole of it. */
function take(next: Record<string, Painted>, words: string): void {
  states = next;
  status.textContent = words;
  element("clear").hidden = words === "";
}

function badge({ x, y }: { x: number; y: number }, mark: Mark): Shape[] {
  return [
    shape("circle", { class: `painted badge-${mark.severity}`, cx: x, cy: y, r: 8 }),
    shape("text", { class: "painted badge-text", x, y: y + 3.5 }, [], String(mark.messages.length)),
  ];
}

function stateText(node: GraphNode, state: Painted): Shape {
  const word = state.state === "review" ? "held for review" : state.state;
  const text = state.text === "" ? word : `${word} · ${state.text}`;
  return shape("text", { class: "painted state", x: node.x + node.width - 10, y: node.y + 14 }, [], text);
}

function choose(path: string | null, bring: boolean): void {
  if (current !== null) groups.get(current)?.classList.remove("current");
  for (const group of groups.values()) group.setAttribute("tabindex", "-1");
  current = path;
  const group = path === null ? groups.values().next().value : groups.get(path);
  group?.setAttribute("tabindex", "0"); // one stop of the tab key; arrows go on from there
  if (path === null) return;
  group?.classList.add("current");
  const node = nodes.get(path);
  if (bring && node !== undefined) look(reveal(sight, node, room()));
}

function room(): { width: number; height: number } {
  return { width: stage.clientWidth, height: stage.clientHeight };
}

function look(next: Sight): void {
  sight = graph === undefined ? next : kept(next, graph, room());
  picture.setAttribute("transform", `translate(${sight.x} ${sight.y}) scale(${sight.scale})`);
  element("zoom").textContent = `${Math.round(sight.scale * 100)} %`;
}

// -- what the person does --------------------------------------------------------------------------

function zoomBy(factor: number, at?: { x: number; y: number }): void {
  moved = true;
  const { width, height } = room();
  look(zoom(sight, factor, at ?? { x: width / 2, y: height / 2 }));
}

function fitAll(): void {
  moved = false;
  whole = true;
  if (graph !== undefined) look(fit(graph, room()));
}

function pathUnder(event: Event): string | undefined {
  return event.target instanceof Element ? event.target.closest<SVGGElement>("g.node")?.dataset["path"] : undefined;
}

function open(path: string, keepFocus: boolean): void {
  choose(path, false);
  vscode.postMessage({ type: "open", path, keepFocus });
}

function listen(): void {
  let from: { x: number; y: number; sight: Sight; id: number; far: boolean } | undefined;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0) from = { x: event.clientX, y: event.clientY, sight, id: event.pointerId, far: false };
  });
  stage.addEventListener("pointermove", (event) => {
    if (from === undefined) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.far && Math.hypot(x, y) < 4) return;
    if (!from.far) stage.setPointerCapture(from.id);
    from.far = moved = true;
    look({ ...from.sight, x: from.sight.x + x, y: from.sight.y + y });
  });
  stage.addEventListener("pointerup", (event) => {
    const path = from?.far === false ? pathUnder(event) : undefined;
    from = undefined;
    if (path !== undefined) open(path, true);
  });
  stage.addEventListener("pointercancel", () => (from = undefined));
  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      moved = true;
      const bounds = stage.getBoundingClientRect();
      const at = { x: event.clientX - bounds.x, y: event.clientY - bounds.y };
      if (event.ctrlKey || event.metaKey) zoomBy(Math.exp(-event.deltaY / 200), at);
      else look({ ...sight, x: sight.x - event.deltaX, y: sight.y - event.deltaY });
    },
    { passive: false },
  );
  document.addEventListener("keydown", key);
  for (const [id, action] of [["in", () => zoomBy(1.25)], ["out", () => zoomBy(0.8)], ["fit", fitAll], ["save", save], ["clear", clear]] as const)
    element(id).addEventListener("click", action);
  window.addEventListener("resize", () => {
    if (moved || graph === undefined) return;
    look(whole ? fit(graph, room()) : first(graph, room()));
  });
}

const STEPS: Record<string, -1 | 1> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

function key(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const onButton = event.target instanceof HTMLButtonElement;
  const step = STEPS[event.key];
  if (step !== undefined) walk(step);
  else if (event.key === "Home") walkTo(0);
  else if (event.key === "End") walkTo(groups.size - 1);
  else if (event.key === "+" || event.key === "=") zoomBy(1.25);
  else if (event.key === "-") zoomBy(0.8);
  else if (event.key === "0") fitAll();
  else if ((event.key === "Enter" || event.key === " ") && !onButton && current !== null) open(current, event.key === " ");
  else return;
  event.preventDefault();
}

function walk(step: -1 | 1): void {
  const paths = [...groups.keys()];
  walkTo(current === null ? 0 : Math.min(paths.length - 1, Math.max(0, paths.indexOf(current) + step)));
}

function walkTo(place: number): void {
  const path = [...groups.keys()][place];
  if (path === undefined) return;
  choose(path, true);
  groups.get(path)?.focus({ preventScroll: true });
}

function clear(): void {
  vscode.postMessage({ type: "clear" });
}

/** Hands the picture over as a file of its own, with the colours that the theme has now. */
function save(): void {
  if (graph === undefined) return;
  const theme = getComputedStyle(document.documentElement);
  const colour = (name: string): string => theme.getPropertyValue(variableOf(name)).trim() || "#888";
  const head = marks[HEAD];
  const shapes = [...draw(graph).map((one) => withState(one)), ...(head ? badge(BEFORE_TITLE, head) : [])];
  vscode.postMessage({
    type: "svg",
    text: svgText(shapes, graph.width, graph.height, styleWith(colour), colour(colourNames[0] ?? "page")),
    name: graph.workflow,
  });
}

function withState(given: Shape): Shape {
  const path = given.attrs["data-path"];
  const group = typeof path === "string" ? groups.get(path) : undefined;
  const node = typeof path === "string" ? nodes.get(path) : undefined;
  if (group === undefined || node === undefined) return given;
  const [mark, state] = [marks[node.path], states[node.path]];
  const more = [...(mark ? badge(cornerOf(node), mark) : []), ...(state ? [stateText(node, state)] : [])];
  const name = (group.getAttribute("class") ?? "").replace(" current", "");
  return shape("g", { ...given.attrs, class: name }, [...given.children, ...more]);
}

// -- what the extension says -----------------------------------------------------------------------

window.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  switch (data.type) {
    case "graph":
      return show(data.graph, data.remembered);
    case "marks":
      marks = data.marks;
      return paint();
    case "states":
      take(data.states, data.status);
      return paint();
    case "cursor":
      return choose(data.path, data.reveal);
    case "problem":
      problem.textContent = data.text;
      return;
    case "export":
      return save();
  }
});

const svg = document.createElementNS(SVG, "svg");
const style = document.createElement("style");
style.nonce = document.body.dataset["nonce"] ?? "";
style.textContent = pageStyle;
document.head.append(style);
svg.append(picture);
stage.append(svg);
listen();
vscode.postMessage({ type: "ready" });
