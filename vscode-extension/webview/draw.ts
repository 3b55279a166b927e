/**
 * The picture of a graph as plain shapes, which become elements of the page or the text of an SVG file. The
 * server has placed everything; only the ways between the boxes are laid here.
 */
import type { Graph, GraphEdge, GraphLane, GraphNode } from "../src/graph/model.ts";

export interface Shape {
  tag: string;
  attrs: Record<string, string | number>;
  children: Shape[];
  text?: string;
}

export const shape = (tag: string, attrs: Record<string, string | number> = {}, children: Shape[] = [], text?: string): Shape =>
  text === undefined ? { tag, attrs, children } : { tag, attrs, children, text };

// The distances that the server's layout leaves for what is drawn here.
const PAD = 12;
const LINE = 16;
const GAP = 26;
const GUTTER = 18;
const BAND = 7;

/** What a screen reader says of a node. */
export function labelOf(node: GraphNode): string {
  return [node.id || node.kind, ...node.lines, `line ${node.line}`].join(", ");
}

/** Everything of the picture, without the surrounding `svg` element. */
export function draw(graph: Graph): Shape[] {
  const notes = [graph.admission, ...Object.entries(graph.intervals).map(([name, text]) => `${name} ${text}`)].filter(Boolean);
  return [
    shape("defs", {}, [
      ...["flow", "loop", "jump"].map((kind) =>
        shape(
          "marker",
          { id: `tip-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
          [shape("path", { d: "M0 0L8 4L0 8z", class: `tip ${kind}` })],
        ),
      ),
    ]),
    shape("text", { class: "title", x: PAD * 2, y: 32 }, [], graph.workflow),
    ...(notes.length > 0 ? [shape("text", { class: "note", x: PAD * 2, y: 52 }, [], notes.join(" · "))] : []),
    ...graph.lanes.flatMap(lane),
  ];
}

function lane(given: GraphLane): Shape[] {
  const frame = given.name
    ? [
        shape("rect", { class: "frame", x: given.x - 6, y: given.y - 2, width: given.width + 12, height: given.height + 8, rx: 6 }),
        shape("text", { class: "lane", x: given.x + 2, y: given.y + 11 }, [], given.name),
      ]
    : [];
  return [...frame, ...bands(given), ...flow(given), ...given.nodes.flatMap(node), ...jumps(given)];
}

/** Leases that last to the end of the run: a bar from where they are taken to the end of the column. */
function bands(given: GraphLane): Shape[] {
  const left = given.x + GUTTER * given.edges.filter((edge) => edge.kind === "loop").length;
  const bottom = given.y + given.height;
  return given.nodes
    .filter((one) => one.held_to_the_end)
    .map((one, place) =>
      shape(
        "rect",
        { class: "band", x: left + place * (BAND + 6), y: one.y + 6, width: BAND, height: Math.max(8, bottom - one.y - 6), rx: 3 },
        [shape("title", {}, [], `${one.lease} is held to the end of the run`)],
      ),
    );
}

function flow(given: GraphLane): Shape[] {
  const nodes = new Map(given.nodes.map((one) => [one.path, one]));
  const found: Shape[] = [];
  for (const edge of given.edges) {
    const [above, below] = [nodes.get(edge.from), edge.to === null ? undefined : nodes.get(edge.to)];
    if (edge.kind !== "then" || above === undefined || below === undefined) continue;
    const x = above.x + above.width / 2;
    found.push(shape("path", { class: "line flow", d: `M${x} ${above.y + above.height}V${below.y - 1}`, "marker-end": "url(#tip-flow)" }));
  }
  return found;
}

/** Ways that are not simply the next step: loops on the left, the others on the right. */
function jumps(given: GraphLane): Shape[] {
  const nodes = new Map(given.nodes.map((one) => [one.path, one]));
  const left = Math.min(...given.nodes.map((one) => one.x));
  const right = Math.max(...given.nodes.map((one) => one.x + one.width));
  const claims = given.nodes.filter((one) => one.held_to_the_end).length;
  const of = (kind: GraphEdge["kind"]): GraphEdge[] => given.edges.filter((edge) => edge.kind === kind);
  const found: Shape[] = [];
  of("loop").forEach((edge, place) => {
    const [source, target] = [nodes.get(edge.from), nodes.get(edge.to ?? "")];
    if (source === undefined || target === undefined) return;
    const x = left - (BAND + 6) * claims - GUTTER * (place + 0.7);
    found.push(elbow(source.x, source.y + source.height - 10, x, target.x, target.y + 12, edge));
  });
  of("jump").forEach((edge, place) => {
    const source = nodes.get(edge.from);
    if (source === undefined) return;
    const [x, y] = [right + GUTTER * (place + 0.7), source.y + source.height - 10];
    const target = edge.to === null ? undefined : nodes.get(edge.to);
    if (target !== undefined) found.push(elbow(source.x + source.width, y, x, target.x + target.width, target.y + 12, edge));
    else {
      const end = given.y + given.height - (edge.to === null ? GAP / 2 : 0);
      found.push(
        shape("path", { class: "line jump", d: `M${source.x + source.width} ${y}H${x}V${end}` }, [says(edge)]),
        shape("circle", { class: "end", cx: x, cy: end, r: 4 }, [shape("title", {}, [], "the end of this list")]),
      );
    }
  });
  return found;
}

function elbow(x1: number, y1: number, x: number, x2: number, y2: number, edge: GraphEdge): Shape {
  const d = `M${x1} ${y1}H${x}V${y2}H${x2}`;
  return shape("path", { class: `line ${edge.kind}`, d, "marker-end": `url(#tip-${edge.kind})` }, [says(edge)]);
}

const says = (edge: GraphEdge): Shape =>
  shape("title", {}, [], `${edge.label === "maybe" ? "perhaps " : ""}from ${edge.from} to ${edge.to ?? "the end"}`);

function node(given: GraphNode): Shape[] {
  const round = (given.shape === "wait" || given.shape === "pause") && given.lanes.length === 0 && given.height < 64;
  const [x, y] = [given.x + PAD, given.y + PAD + 8];
  const head = shape(
    "g",
    { class: `node ${given.shape}`, "data-path": given.path, tabindex: -1, role: "button", "aria-label": labelOf(given) },
    [
      shape("title", {}, [], labelOf(given)),
      shape("rect", { class: "box", x: given.x, y: given.y, width: given.width, height: given.height, rx: round ? 16 : 7 }),
      shape("text", { class: "name", x, y }, [], given.id || given.kind),
      ...given.lines.map((line, at) => shape("text", { class: at === 0 ? "code" : "mark", x, y: y + LINE * (at + 1) }, [], line)),
    ],
  );
  return [head, ...given.lanes.flatMap(lane)];
}

/** Shapes as the text of an SVG file. */
export function svgText(shapes: readonly Shape[], width: number, height: number, style: string, background: string): string {
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  const root = shape("svg", { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${size.width} ${size.height}` }, [
    shape("style", {}, [], style),
    shape("rect", { ...size, fill: background }),
    ...shapes,
  ]);
  return written(root) + "\n";
}

function written(given: Shape): string {
  const attrs = Object.entries(given.attrs)
    .filter(([name]) => name !== "tabindex")
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join("");
  const inner = (given.text === undefined ? "" : escaped(given.text)) + given.children.map(written).join("");
  return inner === "" ? `<${given.tag}${attrs}/>` : `<${given.tag}${attrs}>${inner}</${given.tag}>`;
}

/** Text for XML: what may not stand in it at all is left out. */
function escaped(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "")
    .replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one] ?? one);
}
