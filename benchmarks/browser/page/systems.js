// The systems. Each function loads the network once, and returns a function that runs it on the given input.
const bytesOf = async (file) => (await fetch(file)).arrayBuffer();

async function rushlight(threads) {
  const { Module } = await import("./rushlight/rushlight.js");
  const module = await Module.load(await bytesOf("mobilenet_v2.pte"), { threads });
  const input = new Float32Array(await bytesOf("input.bin"));
  return { threads: module.threads, run: () => module.forward(input)[0].data };
}

async function onnxruntime(threads) {
  const folder = "./node_modules/onnxruntime-web/dist/";
  const ort = await import(`${folder}ort.wasm.min.mjs`);
  ort.env.wasm.wasmPaths = new URL(folder, document.baseURI).href;
  ort.env.wasm.numThreads = threads;
  const model = new Uint8Array(await bytesOf("mobilenet_v2.onnx"));
  const session = await ort.InferenceSession.create(model, {
    executionProviders: ["wasm"], graphOptimizationLevel: "all",
  });
  const input = new Float32Array(await bytesOf("input.bin"));
  const run = async () => {
    const feeds = { [session.inputNames[0]]: new ort.Tensor("float32", input, [1, 3, 224, 224]) };
    return (await session.run(feeds))[session.outputNames[0]].data;
  };
  return { threads: ort.env.wasm.numThreads, run };
}

function script(file) {
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = file;
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${file} cannot be loaded`));
    document.head.append(element);
  });
}

async function tfjs(threads) {
  await script("./node_modules/@tensorflow/tfjs-core/dist/tf-core.es2017.min.js");
  await script("./node_modules/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.es2017.min.js");
  const { tf } = globalThis;
  tf.wasm.setWasmPaths(new URL("./node_modules/@tensorflow/tfjs-backend-wasm/dist/", document.baseURI).href);
  if (threads === 1) tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
  else tf.wasm.setThreadsCount(threads);
  await tf.setBackend("wasm");
  await tf.ready();

  const values = new Float32Array(await bytesOf("weights.bin"));
  let used = 0;
  const take = (shape) => {
    const size = shape.reduce((product, length) => product * length, 1);
    return tf.tensor(values.subarray(used, (used += size)), shape);
  };
  const layers = (await (await fetch("layers.json")).json()).map((layer) => {
    const outputs = layer.kind === "classifier" ? layer.shape[1] : layer.outputs;
    return { ...layer, weights: take(layer.shape), bias: take([outputs]) };
  });
  const input = new Float32Array(await bytesOf("input-channels-last.bin"));

  const forward = () => {
    let x = tf.tensor4d(input, [1, 224, 224, 3]);
    let kept;
    for (const { kind, weights: filter, bias, stride: strides, pad: size, clamps, keeps, adds } of layers) {
      if (keeps) kept = x;
      if (kind === "classifier") {
        x = tf.fused.matMul({ a: tf.mean(x, [1, 2]), b: filter, bias });
        continue;
      }
      const activation = clamps ? "relu6" : "linear";
      const pad = size === 0 ? "valid" : [[0, 0], [size, size], [size, size], [0, 0]];
      const convolve = kind === "depthwise" ? tf.fused.depthwiseConv2d : tf.fused.conv2d;
      x = convolve({ x, filter, strides, pad, bias, activation });
      if (adds) x = tf.add(x, kept);
    }
    return x.dataSync();
  };
  return { threads: threads === 1 ? 1 : tf.wasm.getThreadsCount(), run: () => tf.tidy(forward) };
}

export const SYSTEMS = { rushlight, onnxruntime, tfjs };
