// A thread of the runtime in a worker. rushlight.js sends one message with everything it needs, and ends the worker.
import { instantiate } from "./rushlight.js";

async function run({ wasm, memory, stack, tls }, answer) {
  const { exports } = await instantiate(wasm, memory);
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(tls);
  answer("ready");
  exports.rushlight_worker_run(); // does not return
}

if (typeof WorkerGlobalScope !== "undefined") {
  self.onmessage = ({ data }) => run(data, (text) => self.postMessage(text));
} else {
  import("node:worker_threads").then(({ parentPort }) => {
    parentPort.once("message", (data) => run(data, (text) => parentPort.postMessage(text)));
  });
}
