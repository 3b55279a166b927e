import assert from "node:assert/strict";
import { test } from "node:test";
import { marksOf, nodeAt, nodesOf, workflowAt, type Graph, type GraphLane, type GraphNode, type Position } from "../src/graph/model.ts";
import { draw, labelOf, svgText, type Shape } from "../webview/draw.ts";
import { first, fit, kept, LARGEST, reveal, SMALLEST, zoom } from "../webview/sight.ts";
import { mixed, pageStyle, styleWith } from "../webview/style.ts";

/** Columns of one line, but for the last test of a place. */
const at = (character: number, line = 0): Position => ({ line, character });
const node = (path: string, start: number, end: number, more: Partial<GraphNode> = {}): GraphNode => ({
  path, id: path.split("/").at(-1) ?? "", kind: "block", shape: "block", lines: ["log"], lease: "",
  held_to_the_end: false, line: 1, range: { start: at(start), end: at(end) }, x: 10, y: start, width: 100, height: 40, lanes: [], ...more,
});
const lane = (nodes: GraphNode[], edges: GraphLane["edges"] = [], name = ""): GraphLane => ({ name, x: 0, y: 0, width: 200, height: 300, nodes, edges });
const graph = (lanes: GraphLane[]): Graph => ({
  workflow: "w<1>", file: "w", range: { start: at(0), end: at(80) }, admission: "1 at once", intervals: { transitions: "2 to 4" }, width: 300, height: 400, lanes,
});
const every = (shapes: Shape[]): Shape[] => shapes.flatMap((one) => [one, ...every(one.children)]);

test("nodes come in the order of the text, those inside after the one around them", () => {
  const given = graph([lane([node("a", 0, 90, { lanes: [lane([node("a/l/x", 5, 9)], [], "l"), lane([node("a/r/y", 20, 30)], [], "r")] }), node("b", 91, 99)]), lane([node("on_cancel/z", 100, 110)])]);
  assert.deepEqual(nodesOf(given).map((one) => one.path), ["a", "a/l/x", "a/r/y", "b", "on_cancel/z"]);
});

test("a place belongs to the innermost step around it", () => {
  const nodes = nodesOf(graph([lane([node("a", 0, 50, { lanes: [lane([node("a/x", 10, 20)])] }), node("b", 60, 70)])]));
  assert.deepEqual([5, 15, 20, 55, 65].map((one) => nodeAt(nodes, at(one))), ["a", "a/x", "a/x", undefined, "b"]);
  const long = { range: { start: at(4, 2), end: at(3, 5) } };
  const below = [node("c", 0, 0, long)];
  assert.deepEqual([at(3, 2), at(4, 2), at(0, 3), at(99, 4), at(3, 5), at(4, 5)].map((one) => nodeAt(below, one)), [undefined, "c", "c", "c", "c", undefined]);
});

test("findings are painted on their step, the worst one gives the colour", () => {
  const marks = marksOf([node("a", 0, 50), node("a/x", 10, 20)], [
    { start: at(12), severity: "hint", message: "one" }, { start: at(13), severity: "error", message: "two" },
    { start: at(14), severity: "warning", message: "three" }, { start: at(60), severity: "warning", message: "of the head" },
    { start: at(90), severity: "error", message: "of another workflow" },
  ], { start: at(0), end: at(80) });
  assert.deepEqual(marks, {
    "a/x": { severity: "error", messages: ["one", "two", "three"] }, "": { severity: "warning", messages: ["of the head"] },
  });
});

test("the cursor chooses the workflow in whose document it stands", () => {
  const rows = [3, 20].map((line) => ({ name: `from ${line}`, document: { start: at(0, line), end: at(0, line + 10) } }));
  assert.deepEqual([0, 3, 19, 20, 99].map((line) => workflowAt(rows, line)?.name), ["from 3", "from 3", "from 3", "from 20", "from 20"]);
  assert.equal(workflowAt([], 0), undefined);
});

test("every step is one element that can be reached and says what it is", () => {
  const given = graph([lane([node("a", 0, 9, { lines: ["holds shelf", "when x", "retry 3"], shape: "section" })])]);
  const found = every(draw(given)).filter((one) => one.attrs["data-path"] === "a");
  assert.equal(found.length, 1);
  assert.equal(found[0]?.attrs["aria-label"], "a, holds shelf, when x, retry 3, line 1");
  assert.equal(labelOf(node("b", 0, 1, { id: "", kind: "delay", lines: ["delay 10m"] })), "delay, delay 10m, line 1");
});

test("loops run on the left of the boxes, jumps on the right, the end is a dot", () => {
  const given = graph([lane([node("a", 0, 9), node("b", 60, 69)], [
    { from: "a", to: "b", kind: "then" }, { from: "b", to: "a", kind: "loop", label: "maybe" }, { from: "a", to: null, kind: "jump" },
  ])]);
  const drawn = every(draw(given));
  const way = (kind: string): string => String(drawn.find((one) => one.attrs["class"] === `line ${kind}`)?.attrs["d"]);
  assert.equal(way("flow"), "M60 40V59");
  assert.ok(Number(/H(-?[\d.]+)V/.exec(way("loop"))?.[1]) < 10);
  assert.ok(Number(/H(-?[\d.]+)V/.exec(way("jump"))?.[1]) > 110);
  assert.equal(drawn.filter((one) => one.tag === "circle").length, 1);
  assert.ok(drawn.some((one) => one.text === "perhaps from b to a"));
});

test("a lease to the end of the run is a bar down to the end of its column", () => {
  const drawn = every(draw(graph([lane([node("claim", 20, 30, { held_to_the_end: true, lease: "shelf", shape: "claim" })])])));
  const bar = drawn.find((one) => one.attrs["class"] === "band");
  assert.equal(Number(bar?.attrs["y"]) + Number(bar?.attrs["height"]), 300);
  assert.equal(bar?.children[0]?.text, "shelf is held to the end of the run");
});

test("the saved picture is XML whatever the names are, and follows no theme", () => {
  const given = graph([lane([node('a"&<', 0, 9, { lines: ["bell \u0007 </text><script>"] })])]);
  const text = svgText(draw(given), 300, 400, styleWith(() => "#102030"), "#fff");
  assert.match(text, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="300"/);
  assert.ok(text.includes("a&quot;&amp;&lt;") && text.includes("w&lt;1&gt;") && text.includes("&lt;script&gt;"));
  assert.ok(!text.includes("<script") && !text.includes("\u0007") && !text.includes("tabindex") && !text.includes("var("));
});

test("the page's colours are the theme's own", () => {
  assert.doesNotMatch(pageStyle, /\$|~\d|undefined|currentColor/);
  assert.match(pageStyle, /var\(--vscode-editor-background\)/);
});

test("colours are mixed into plain ones", () => {
  assert.equal(mixed("#ff0000", 50, "#000"), "#800000");
  assert.equal(mixed("rgba(10, 20, 30, .5)", 100, "#ffffffff"), "#0a141e");
  assert.equal(mixed("papayawhip", 50, "#fff"), "papayawhip");
});

test("everything fits, and nothing is shown larger than life at first", () => {
  assert.equal(fit({ width: 100, height: 100 }, { width: 800, height: 600 }).scale, 1);
  const small = fit({ width: 1600, height: 300 }, { width: 800, height: 600 });
  assert.deepEqual(small, { scale: 0.5, x: 0, y: 225 });
});

test("a long workflow begins at its top, large enough to read", () => {
  const sight = first({ width: 400, height: 20_000 }, { width: 800, height: 600 });
  assert.deepEqual(sight, { scale: 1, x: 200, y: 0 });
  assert.deepEqual(first({ width: 8000, height: 600 }, { width: 800, height: 600 }), { scale: 0.6, x: 0, y: 0 });
  assert.deepEqual(first({ width: 1000, height: 300 }, { width: 800, height: 600 }), fit({ width: 1000, height: 300 }, { width: 800, height: 600 }));
});

test("zooming keeps the point under the pointer, within limits", () => {
  const before = { x: 5, y: 7, scale: 1 };
  const after = zoom(before, 2, { x: 100, y: 50 });
  assert.equal((100 - before.x) / before.scale, (100 - after.x) / after.scale);
  assert.equal((50 - before.y) / before.scale, (50 - after.y) / after.scale);
  assert.equal(zoom(before, 1e9, { x: 0, y: 0 }).scale, LARGEST);
  assert.equal(zoom(before, 1e-9, { x: 0, y: 0 }).scale, SMALLEST);
});

test("a picture cannot be pushed out of the window", () => {
  const [picture, window] = [{ width: 1000, height: 2000 }, { width: 400, height: 300 }];
  assert.deepEqual(kept({ x: -10, y: 20, scale: 1 }, picture, window), { x: -10, y: 20, scale: 1 });
  assert.deepEqual(kept({ x: -9999, y: -9999, scale: 0.5 }, picture, window), { x: -420, y: -920, scale: 0.5 });
  assert.deepEqual(kept({ x: 9999, y: 9999, scale: 1 }, picture, window), { x: 320, y: 220, scale: 1 });
});

test("a step out of sight is brought into it, one in sight moves nothing", () => {
  const window = { width: 400, height: 300 };
  const sight = { x: 0, y: 0, scale: 1 };
  assert.deepEqual(reveal(sight, { x: 50, y: 50, width: 100, height: 40 }, window), sight);
  const below = reveal(sight, { x: 50, y: 1000, width: 100, height: 40 }, window);
  assert.ok(below.y + 1000 >= 24 && below.y + 1040 <= 276);
  const above = reveal({ x: 0, y: -900, scale: 1 }, { x: 50, y: 100, width: 100, height: 40 }, window);
  assert.equal(above.y + 100, 24);
});
