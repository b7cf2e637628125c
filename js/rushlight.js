// The runtime in WebAssembly, for browsers and Node. The structs have the wasm32 layout of rushlight.h;
// runtime/c/wasm.cpp checks the offsets against the header.

const KINDS = ["none", "tensor", "integer", "real", "boolean", "string", "other"];
const MAX_RANK = 16;
const VALUE = { bytes: 120, kind: 0, dtype: 4, rank: 8, sizes: 12, dimOrder: 76, data: 92, nbytes: 96, integer: 104, real: 112 };
const VALUE_INFO = { bytes: 104, kind: 4, dtype: 8, rank: 12, dynamism: 16, sizes: 20, dimOrder: 84 };
const METHOD_INFO = { bytes: 24, inputs: 4, outputs: 8 };
const METHOD_OPTIONS = { bytes: 32, threads: 4 };

// The memory of modules with threads, in pages of 64 KiB, as at their link time; and the bytes of a thread's stack.
const SHARED_MEMORY = { initial: 256, maximum: 32768, shared: true };
const STACK = 1 << 20;

// For each dtype: its number in rushlight.h, and the array class of its elements.
const DTYPES = {
  uint8: [0, Uint8Array],
  int8: [1, Int8Array],
  int16: [2, Int16Array],
  int32: [3, Int32Array],
  int64: [4, BigInt64Array],
  float16: [5, Uint16Array],
  float32: [6, Float32Array],
  float64: [7, Float64Array],
  bool: [11, Uint8Array],
  bfloat16: [15, Uint16Array],
  uint16: [27, Uint16Array],
  uint32: [28, Uint32Array],
  uint64: [29, BigUint64Array],
};
const DTYPE_NAMES = new Map(Object.entries(DTYPES).map(([name, [number]]) => [number, name]));
// The default dtype of each array class.
const DTYPE_OF_CLASS = new Map([
  [Uint8Array, "uint8"], [Int8Array, "int8"], [Int16Array, "int16"], [Int32Array, "int32"], [BigInt64Array, "int64"],
  [Float32Array, "float32"], [Float64Array, "float64"], [Uint16Array, "uint16"], [Uint32Array, "uint32"],
  [BigUint64Array, "uint64"],
]);

const product = (sizes) => sizes.reduce((total, size) => total * size, 1);

export class Tensor {
  constructor(data, shape = [data.length], dtype = DTYPE_OF_CLASS.get(data.constructor)) {
    if (!(dtype in DTYPES)) throw new TypeError(`no dtype for a ${data.constructor.name}: ${dtype}`);
    if (!(data instanceof DTYPES[dtype][1])) {
      throw new TypeError(`elements of ${dtype} are a ${DTYPES[dtype][1].name}, not a ${data.constructor.name}`);
    }
    if (shape.length > MAX_RANK || !shape.every((size) => Number.isInteger(size) && size >= 0)) {
      throw new RangeError(`[${shape}] is not a shape of at most ${MAX_RANK} sizes`);
    }
    if (product(shape) !== data.length) {
      throw new RangeError(`a tensor of shape [${shape}] has ${product(shape)} elements, not ${data.length}`);
    }
    this.data = data;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
    Object.freeze(this);
  }
}

export class RushlightError extends Error {
  constructor(status, message) {
    super(message || status);
    this.name = "RushlightError";
    this.status = status;
  }
}

const BAD_FILE = 8; // WASI's EBADF

// The WASI functions that the C library calls. There are no files; text for stdout and stderr goes to the console.
function wasi(memory) {
  const view = () => new DataView(memory().buffer);
  const lines = ["", ""];
  const write = (file, vectors, count, written) => {
    if (file !== 1 && file !== 2) return BAD_FILE;
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const start = view().getUint32(vectors + 8 * i, true);
      const size = view().getUint32(vectors + 8 * i + 4, true);
      lines[file - 1] += new TextDecoder().decode(new Uint8Array(memory().buffer, start, size).slice());
      total += size;
    }
    const complete = lines[file - 1].split("\n");
    lines[file - 1] = complete.pop();
    for (const line of complete) (file === 1 ? console.log : console.warn)(line);
    view().setUint32(written, total, true);
    return 0;
  };
  return {
    fd_write: write,
    clock_time_get: (clock, precision, time) => {
      view().setBigUint64(time, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    random_get: (start, size) => {
      for (let done = 0; done < size; done += 65536) {
        const bytes = crypto.getRandomValues(new Uint8Array(Math.min(65536, size - done)));
        new Uint8Array(memory().buffer).set(bytes, start + done);
      }
      return 0;
    },
    proc_exit: (code) => {
      throw new Error(`the runtime ended with code ${code}`);
    },
  };
}

const hasSharedMemory = () => globalThis.crossOriginIsolated ?? typeof SharedArrayBuffer !== "undefined";
const isNode = () => typeof process !== "undefined" && process.versions?.node !== undefined;

// Whether a module imports its memory from the host.
const hasThreads = (wasm) => WebAssembly.Module.imports(wasm).some(({ kind }) => kind === "memory");

// Makes an instance of a module. All other imported functions fail as if files did not exist. The threads of a module
// have separate instances with one common memory.
export async function instantiate(wasm, memory) {
  let instance;
  const known = wasi(() => memory ?? instance.exports.memory);
  const table = {};
  for (const { module, name, kind } of WebAssembly.Module.imports(wasm)) {
    table[module] ??= {};
    table[module][name] = kind === "memory" ? memory : (known[name] ?? (() => BAD_FILE));
  }
  instance = await WebAssembly.instantiate(wasm, table);
  return instance;
}

// A module whose only function uses a fused multiply-add instruction of relaxed SIMD.
const RELAXED = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0, 253, 15, 65, 0,
  253, 15, 253, 133, 2, 11,
);

const bundled = new Map(); // promises of compiled modules, by file name

async function compileBundled(threads) {
  const file = `rushlight${WebAssembly.validate(RELAXED) ? "-relaxed" : ""}${threads > 1 ? "-threads" : ""}.wasm`;
  if (!bundled.has(file)) bundled.set(file, compileFile(file));
  return bundled.get(file);
}

async function compileFile(file) {
  const url = new URL(file, import.meta.url);
  if (url.protocol === "file:" && isNode()) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

async function compiled(wasm, threads) {
  if (wasm === undefined) return compileBundled(threads);
  return wasm instanceof WebAssembly.Module ? wasm : WebAssembly.compile(wasm);
}

// Starts a thread of a module. Resolves to its worker when the worker is ready.
async function startWorker(message) {
  const url = new URL("./rushlight-worker.js", import.meta.url);
  if (isNode()) {
    const { Worker } = await import("node:worker_threads");
    const worker = new Worker(url);
    await new Promise((resolve, reject) => {
      worker.once("message", resolve).once("error", reject).postMessage(message);
    });
    worker.unref();
    return worker;
  }
  const worker = new Worker(new URL("./rushlight-worker.js", import.meta.url), { type: "module" });
  await new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = (event) => reject(new Error(`${url}: ${event.message ?? "the worker cannot be started"}`));
    worker.postMessage(message);
  });
  return worker;
}

const endWorkers = (workers) => workers.splice(0).forEach((worker) => worker.terminate());
// Ends the workers of modules that are garbage-collected.
const forgotten = new FinalizationRegistry(endWorkers);

// One instance of the runtime and its memory. Pointers are numbers.
class Runtime {
  constructor(instance, memory) {
    this.c = instance.exports;
    this.memory = memory ?? this.c.memory;
    this.threads = 1;
    this.pool = 0; // 0, or the pool of the threads
    this.workers = [];
    this.c._initialize();
  }

  static async start(wasm, threads) {
    const module = await compiled(wasm, threads);
    const isShared = hasThreads(module);
    if (threads > 1 && !isShared) {
      throw new RushlightError("InvalidArgument", "options.wasm is a runtime without threads, such as rushlight.wasm; give rushlight-threads.wasm");
    }
    const memory = isShared ? new WebAssembly.Memory(SHARED_MEMORY) : undefined;
    const runtime = new Runtime(await instantiate(module, memory), memory);
    if (threads > 1) await runtime.startThreads(module, threads);
    return runtime;
  }

  // The memory of stacks and thread-local data is never freed.
  async startThreads(wasm, threads) {
    const { __tls_size: size, __tls_align: align } = this.c;
    const starts = Array.from({ length: threads - 1 }, () => {
      const stack = (this.allocate(STACK + 16) + STACK) & -16;
      const tls = (this.allocate(size.value + align.value) + align.value - 1) & -align.value;
      return startWorker({ wasm, memory: this.memory, stack, tls });
    });
    const ends = await Promise.allSettled(starts);
    this.workers = ends.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
    const failed = ends.find(({ status }) => status === "rejected");
    if (failed) {
      endWorkers(this.workers);
      throw failed.reason;
    }
    this.pool = this.made((place) => this.c.rushlight_thread_pool_new(threads, place));
    this.threads = threads;
  }

  // Memory may grow in every call, and views of the old memory are then invalid.
  get view() {
    return new DataView(this.memory.buffer);
  }

  allocate(size) {
    const start = this.c.malloc(Math.max(size, 1));
    if (start === 0) throw new RushlightError("MemoryAllocationFailed", `no memory for ${size} bytes`);
    return start;
  }

  write(bytes) {
    const start = this.allocate(bytes.length);
    new Uint8Array(this.memory.buffer).set(bytes, start);
    return start;
  }

  writeText(text) {
    return this.write(new TextEncoder().encode(`${text}\0`));
  }

  read(start, size) {
    return new Uint8Array(this.memory.buffer, start, size).slice();
  }

  readText(start) {
    const memory = new Uint8Array(this.memory.buffer);
    return new TextDecoder().decode(memory.slice(start, memory.indexOf(0, start)));
  }

  check(status) {
    if (status === 0) return;
    throw new RushlightError(
      this.readText(this.c.rushlight_status_name(status)), this.readText(this.c.rushlight_last_error()),
    );
  }

  // Calls `use` with `size` bytes of memory, which are freed afterwards.
  scratch(size, use) {
    const start = this.allocate(size);
    new Uint8Array(this.memory.buffer, start, size).fill(0);
    try {
      return use(start);
    } finally {
      this.c.free(start);
    }
  }

  // Returns the pointer that `make(place)` writes to `place`.
  made(make) {
    return this.scratch(4, (place) => {
      this.check(make(place));
      return this.view.getUint32(place, true);
    });
  }
}

// A loaded method, with memory for its inputs.
class Method {
  constructor(runtime, program, name, inputs, outputs) {
    this.runtime = runtime;
    this.name = name;
    this.inputs = inputs;
    this.outputs = outputs;
    const text = runtime.writeText(name);
    try {
      this.handle = runtime.scratch(METHOD_OPTIONS.bytes, (options) => {
        runtime.view.setUint32(options, METHOD_OPTIONS.bytes, true);
        runtime.view.setUint32(options + METHOD_OPTIONS.threads, runtime.pool, true);
        return runtime.made((place) => runtime.c.rushlight_method_load(program, text, options, place));
      });
    } finally {
      runtime.c.free(text);
    }
    this.values = runtime.allocate(VALUE.bytes * Math.max(inputs.length, 1));
    this.buffers = inputs.map(() => ({ start: 0, size: 0 }));
  }

  run(given) {
    if (given.length !== this.inputs.length) {
      throw new RushlightError(
        "InvalidArgument", `method '${this.name}' has ${this.inputs.length} inputs, and ${given.length} are given`,
      );
    }
    const { c } = this.runtime;
    given.forEach((value, index) => this.writeInput(value, index));
    this.runtime.check(c.rushlight_method_run(this.handle, this.values, given.length));
    return this.outputs.map((_, index) => this.readOutput(index));
  }

  // Copies bytes to the memory of an input. The memory is allocated at its first use and kept.
  store(bytes, index) {
    const buffer = this.buffers[index];
    if (bytes.length > buffer.size || buffer.start === 0) {
      this.runtime.c.free(buffer.start);
      buffer.start = 0;
      buffer.start = this.runtime.allocate(bytes.length);
      buffer.size = bytes.length;
    }
    new Uint8Array(this.runtime.memory.buffer).set(bytes, buffer.start);
    return buffer.start;
  }

  writeInput(value, index) {
    const at = this.values + VALUE.bytes * index;
    new Uint8Array(this.runtime.memory.buffer, at, VALUE.bytes).fill(0);
    const set = (kind) => this.runtime.view.setInt32(at + VALUE.kind, KINDS.indexOf(kind), true);
    if (ArrayBuffer.isView(value)) value = this.tensorOf(value, index);
    if (value instanceof Tensor) {
      this.writeTensor(value, index, at);
      set("tensor");
    } else if (value === null || value === undefined) {
      set("none");
    } else if (typeof value === "boolean") {
      this.runtime.view.setBigInt64(at + VALUE.integer, BigInt(value), true);
      set("boolean");
    } else if (typeof value === "string") {
      const bytes = new TextEncoder().encode(value);
      const start = this.store(bytes, index);
      this.runtime.view.setUint32(at + VALUE.data, start, true);
      this.runtime.view.setUint32(at + VALUE.nbytes, bytes.length, true);
      set("string");
    } else if (typeof value === "bigint" || (typeof value === "number" && this.inputs[index].kind === "integer")) {
      if (typeof value === "number" && !Number.isSafeInteger(value)) {
        throw new RushlightError("InvalidType", `input ${index} is an integer, but ${value} is given`);
      }
      this.runtime.view.setBigInt64(at + VALUE.integer, BigInt(value), true);
      set("integer");
    } else if (typeof value === "number") {
      this.runtime.view.setFloat64(at + VALUE.real, value, true);
      set("real");
    } else {
      throw new RushlightError("InvalidType", `input ${index} is neither a tensor, a typed array, a number, a boolean, a string nor null`);
    }
  }

  // Returns a typed array as a tensor with the shape and dtype that the program gives.
  tensorOf(array, index) {
    const info = this.inputs[index];
    if (info.kind !== "tensor") return new Tensor(array);
    if (info.dynamic) {
      throw new RushlightError("InvalidArgument", `input ${index} has dynamic sizes: give a Tensor with its shape`);
    }
    const [, type] = DTYPES[info.dtype];
    const dtype = array instanceof type ? info.dtype : DTYPE_OF_CLASS.get(array.constructor);
    if (array.length !== product(info.shape)) {
      throw new RushlightError(
        "InvalidArgument",
        `input ${index} has the shape [${info.shape}] and ${product(info.shape)} elements, and ${array.length} are given`,
      );
    }
    return new Tensor(array, info.shape, dtype);
  }

  // Copies a tensor in row-major order to the order of dimensions that the program wants.
  writeTensor(tensor, index, at) {
    const { dimOrder } = this.inputs[index];
    const order = dimOrder?.length === tensor.shape.length ? dimOrder : tensor.shape.map((_, axis) => axis);
    const data = inOrder(tensor.data, tensor.shape, order);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const start = this.store(bytes, index);
    const { view } = this.runtime;
    view.setInt32(at + VALUE.dtype, DTYPES[tensor.dtype][0], true);
    view.setInt32(at + VALUE.rank, tensor.shape.length, true);
    tensor.shape.forEach((size, axis) => view.setInt32(at + VALUE.sizes + 4 * axis, size, true));
    order.forEach((axis, place) => view.setUint8(at + VALUE.dimOrder + place, axis));
    view.setUint32(at + VALUE.data, start, true);
    view.setUint32(at + VALUE.nbytes, bytes.length, true);
  }

  readOutput(index) {
    const { runtime } = this;
    return runtime.scratch(VALUE.bytes, (at) => {
      runtime.check(runtime.c.rushlight_method_output(this.handle, index, at));
      const { view } = runtime;
      const data = view.getUint32(at + VALUE.data, true);
      const size = view.getUint32(at + VALUE.nbytes, true);
      switch (KINDS[view.getInt32(at + VALUE.kind, true)]) {
        case "none":
          return null;
        case "tensor":
          return this.readTensor(view, at, data, size, index);
        case "integer": {
          const integer = view.getBigInt64(at + VALUE.integer, true);
          return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
        }
        case "boolean":
          return view.getBigInt64(at + VALUE.integer, true) !== 0n;
        case "real":
          return view.getFloat64(at + VALUE.real, true);
        case "string":
          return new TextDecoder().decode(runtime.read(data, size));
        default:
          throw new RushlightError("NotSupported", `output ${index} is a list`);
      }
    });
  }

  readTensor(view, at, data, size, index) {
    const number = view.getInt32(at + VALUE.dtype, true);
    const dtype = DTYPE_NAMES.get(number);
    if (dtype === undefined) {
      throw new RushlightError("NotSupported", `output ${index} has a dtype without an array, number ${number}`);
    }
    const rank = view.getInt32(at + VALUE.rank, true);
    const shape = Array.from({ length: rank }, (_, axis) => view.getInt32(at + VALUE.sizes + 4 * axis, true));
    const order = Array.from({ length: rank }, (_, axis) => view.getUint8(at + VALUE.dimOrder + axis));
    const elements = new DTYPES[dtype][1](this.runtime.read(data, size).buffer);
    return new Tensor(rowMajor(elements, shape, order), shape, dtype);
  }
}

// Returns the elements, which are in row-major order, with the dimensions `order` from outermost to innermost.
function inOrder(elements, shape, order) {
  if (order.every((axis, place) => axis === place)) return elements;
  // To rowMajor(), `elements` is a tensor with the permuted shape whose dimensions lie in another order.
  const places = order.map((_, axis) => order.indexOf(axis));
  return rowMajor(elements, order.map((axis) => shape[axis]), places);
}

// Returns the elements in row-major order. `order` lists the dimensions of `elements` from outermost to innermost.
function rowMajor(elements, shape, order) {
  if (order.every((axis, place) => axis === place)) return elements;
  const strides = new Array(shape.length);
  let stride = 1;
  for (const axis of [...order].reverse()) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  const result = new elements.constructor(elements.length);
  const index = shape.map(() => 0);
  for (let i = 0; i < result.length; ++i) {
    result[i] = elements[index.reduce((offset, at, axis) => offset + at * strides[axis], 0)];
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; --axis) index[axis] = 0;
  }
  return result;
}

export class Module {
  #runtime;
  #program;
  #loaded = new Map();

  // Private. Use Module.load().
  constructor(runtime, program) {
    this.#runtime = runtime;
    this.#program = program;
    const count = runtime.c.rushlight_program_method_count(program);
    const name = (index) => runtime.readText(runtime.c.rushlight_program_method_name(program, index));
    this.methods = Object.freeze(Array.from({ length: count }, (_, index) => name(index)));
    forgotten.register(this, runtime.workers);
  }

  get threads() {
    return this.#runtime.threads;
  }

  // Ends the threads. Without this call, they end some time after the module is garbage-collected.
  close() {
    endWorkers(this.#runtime.workers);
    this.#runtime.threads = 1;
  }

  static async load(program, options = {}) {
    const bytes = program instanceof Uint8Array ? program : new Uint8Array(program);
    const wanted = options.threads ?? 1;
    if (!Number.isInteger(wanted) || wanted < 1) throw new RangeError(`threads is ${wanted}, not a positive integer`);
    const runtime = await Runtime.start(options.wasm, hasSharedMemory() ? wanted : 1);
    const start = runtime.write(bytes); // the buffer lives as long as the module
    return new Module(
      runtime, runtime.made((place) => runtime.c.rushlight_program_load_buffer(start, bytes.length, 0, 0, place)),
    );
  }

  inputs(method = "forward") {
    return this.#describe(method, METHOD_INFO.inputs, "rushlight_program_input_info");
  }

  outputs(method = "forward") {
    return this.#describe(method, METHOD_INFO.outputs, "rushlight_program_output_info");
  }

  forward(...inputs) {
    return this.execute("forward", ...inputs);
  }

  execute(name, ...inputs) {
    if (!this.#loaded.has(name)) {
      const method = new Method(this.#runtime, this.#program, name, this.inputs(name), this.outputs(name));
      this.#loaded.set(name, method);
    }
    return this.#loaded.get(name).run(inputs);
  }

  #describe(method, counted, describe) {
    const runtime = this.#runtime;
    const name = runtime.writeText(method);
    try {
      const count = runtime.scratch(METHOD_INFO.bytes, (info) => {
        runtime.view.setUint32(info, METHOD_INFO.bytes, true);
        runtime.check(runtime.c.rushlight_program_method_info(this.#program, name, info));
        return runtime.view.getUint32(info + counted, true);
      });
      return Array.from({ length: count }, (_, index) =>
        runtime.scratch(VALUE_INFO.bytes, (info) => {
          runtime.view.setUint32(info, VALUE_INFO.bytes, true);
          runtime.check(runtime.c[describe](this.#program, name, index, info));
          return readInfo(runtime.view, info);
        }),
      );
    } finally {
      runtime.c.free(name);
    }
  }
}

function readInfo(view, at) {
  const kind = KINDS[view.getInt32(at + VALUE_INFO.kind, true)];
  if (kind !== "tensor") return { kind };
  const rank = view.getInt32(at + VALUE_INFO.rank, true);
  return {
    kind,
    dtype: DTYPE_NAMES.get(view.getInt32(at + VALUE_INFO.dtype, true)),
    shape: Array.from({ length: rank }, (_, axis) => view.getInt32(at + VALUE_INFO.sizes + 4 * axis, true)),
    dynamic: view.getInt32(at + VALUE_INFO.dynamism, true) !== 0,
    dimOrder: Array.from({ length: rank }, (_, axis) => view.getUint8(at + VALUE_INFO.dimOrder + axis)),
  };
}
