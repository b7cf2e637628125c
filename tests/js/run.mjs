// Runs the calls of a JSON file, and prints their outputs as JSON: node run.mjs PACKAGE CALLS.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [, , folder, calls] = process.argv;
const { Module, Tensor } = await import(pathToFileURL(`${folder}/rushlight.js`));
const CLASSES = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, uint8: Uint8Array };

const read = (value) => {
  if (value === null || typeof value !== "object") return value;
  const elements = value.dtype === "int64" ? value.data.map(BigInt) : value.data;
  const array = CLASSES[value.dtype].from(elements);
  return value.shape ? new Tensor(array, value.shape) : array;
};
const written = (value) =>
  value instanceof Tensor
    ? { dtype: value.dtype, shape: value.shape, data: Array.from(value.data, Number) }
    : value;

const results = [];
for (const { program, method, inputs, threads } of JSON.parse(await readFile(calls, "utf8"))) {
  try {
    const module = await Module.load(await readFile(program), { threads });
    const name = method ?? module.methods[0];
    const described = { inputs: module.inputs(name), outputs: module.outputs(name) };
    module.execute(name, ...inputs.map(read));
    results.push({ ...described, threads: module.threads, results: module.execute(name, ...inputs.map(read)).map(written) });
    module.close();
  } catch (error) {
    results.push({ name: error.name, status: error.status, message: error.message });
  }
}
console.log(JSON.stringify(results));
