import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, gather, read, written, type InputRow, type Needs } from "../src/runs/inputs.ts";

const input = (type: string, more: Partial<InputRow> = {}): InputRow => ({ name: "x", type, secret: false, required: true, ...more });
const workflow = (inputs: InputRow[], secrets: string[] = []): Needs => ({
  name: "w", inputs, secrets, blocks: [],
});

test("each type reads its own values", () => {
  assert.deepEqual(read(input("string"), "12"), { value: "12" });
  assert.deepEqual(read(input("integer"), "12"), { value: 12 });
  assert.deepEqual(read(input("number"), "1.5"), { value: 1.5 });
  assert.deepEqual(read(input("boolean"), "false"), { value: false });
  assert.deepEqual(read(input("array"), "[1]"), { value: [1] });
  assert.deepEqual(read(input("object"), '{"a":null}'), { value: { a: null } });
  assert.deepEqual(read(input("any"), "plain words"), { value: "plain words" });
  assert.deepEqual(read(input("any"), "null"), { value: null });
});

test("a value of another type is a problem, with the input's name", () => {
  for (const [type, text] of [["integer", "1.5"], ["integer", "x"], ["boolean", "yes"], ["array", "{}"], ["object", "[]"], ["object", "null"], ["number", '"1"']] as const) {
    const found = read(input(type), text);
    assert.ok("problem" in found, `${type} takes ${text}`);
    assert.match(found.problem, /"x"/);
  }
});

test("an empty field leaves the default, and a string with nothing in it is one", () => {
  assert.deepEqual(read(input("integer", { required: false }), ""), { left: true });
  assert.deepEqual(read(input("string"), ""), { value: "" });
  assert.deepEqual(read(input("string", { required: false }), ""), { left: true });
  assert.deepEqual(read(input("string", { required: false, default: "a" }), ""), { value: "" });
  assert.ok("problem" in read(input("integer"), ""));
});

test("what stands in a field at first is read back as the default", () => {
  for (const [type, value] of [["string", "12"], ["any", "12"], ["any", 12], ["any", "plain"], ["array", [1, "a"]], ["boolean", true]] as const)
    assert.deepEqual(read(input(type), written(value, type)), { value });
});

test("the control follows from the type, the enum and the secrecy", () => {
  const controls = fieldsOf(workflow([
    input("string"), input("integer"), input("boolean"), input("boolean", { required: false }), input("object"),
    input("string", { enum: ["a", "b"] }), input("string", { secret: true }),
  ]), {}).map((field) => field.control);
  assert.deepEqual(controls, ["text", "number", "boolean", "text", "json", "choice", "password"]);
});

test("an optional choice can be left open", () => {
  const [open, set] = fieldsOf(workflow([input("string", { enum: ["a"], required: false }), input("string", { enum: ["a"], required: false, default: "a" })]), {});
  assert.deepEqual(open?.choices, ["", "a"]);
  assert.deepEqual([set?.choices, set?.start], [["a"], "a"]);
});

test("a secret that the environment has is not asked for", () => {
  const fields = fieldsOf(workflow([], ["HERE", "GONE"]), { HERE: "1" });
  assert.deepEqual(fields.map((field) => [field.name, field.control, field.host]), [["GONE", "password", true]]);
});

test("answers become inputs and secrets, or every problem at once", () => {
  const given = workflow([input("integer"), input("string", { name: "y", required: false })], ["TOKEN"]);
  assert.deepEqual(gather(given, { x: "3", y: "" }, { TOKEN: "t" }), { inputs: { x: 3 }, secrets: { TOKEN: "t" } });
  const bad = gather(given, { x: "three" }, { TOKEN: "" });
  assert.deepEqual("problems" in bad && Object.keys(bad.problems), ["x", "secret:TOKEN"]);
});
