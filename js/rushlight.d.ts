/** A dtype, by its name in torch. */
export type Dtype =
  | "uint8" | "int8" | "int16" | "int32" | "int64" | "float16" | "float32" | "float64" | "bool" | "bfloat16"
  | "uint16" | "uint32" | "uint64";

/** The elements of a tensor. float16 and bfloat16 numbers are their bits in a Uint16Array; bool is a Uint8Array of 0 and 1. */
export type TensorData =
  | Uint8Array | Int8Array | Int16Array | Int32Array | BigInt64Array | Float32Array | Float64Array | Uint16Array
  | Uint32Array | BigUint64Array;

/** A dense tensor. */
export class Tensor {
  /**
   * @param data the elements in row-major order
   * @param shape the sizes; one dimension by default
   * @param dtype the dtype; by default the dtype of the array's class
   * @throws TypeError or RangeError if the arguments do not fit together
   */
  constructor(data: TensorData, shape?: readonly number[], dtype?: Dtype);
  readonly data: TensorData;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
}

/** An input or output of a method. */
export type Value = Tensor | number | bigint | boolean | string | null;

/**
 * The description of an input or output in the program. Sizes are upper bounds unless `dynamic` is false. `dimOrder`
 * lists the dimensions from outermost to innermost in the program's memory; the package converts inputs and outputs.
 */
export interface ValueInfo {
  readonly kind: "none" | "tensor" | "integer" | "real" | "boolean" | "string" | "other";
  readonly dtype?: Dtype;
  readonly shape?: readonly number[];
  readonly dynamic?: boolean;
  readonly dimOrder?: readonly number[];
}

/** An error of the runtime. */
export class RushlightError extends Error {
  /** The name of the status, for example "InvalidProgram". */
  readonly status: string;
}

/** A program and its methods. A method is loaded at its first use. */
export class Module {
  /**
   * Loads a program.
   * @param program the bytes of a .pte file
   * @param options.wasm the runtime; by default one of the files rushlight*.wasm next to this module, chosen for the
   *   host and the number of threads
   * @param options.threads the number of threads, including this one; 1 by default. A page that is not
   *   isolated from other origins has one thread.
   * @throws RushlightError if the bytes are not a valid program
   */
  static load(
    program: ArrayBuffer | Uint8Array,
    options?: { wasm?: WebAssembly.Module | ArrayBuffer | Uint8Array; threads?: number },
  ): Promise<Module>;
  /** The number of threads that run the program. */
  readonly threads: number;
  /** Ends the threads. Afterwards the module runs only on this thread. */
  close(): void;
  /** The names of the methods. */
  readonly methods: readonly string[];
  /** Describes the inputs of a method. */
  inputs(method?: string): ValueInfo[];
  /** Describes the outputs of a method. */
  outputs(method?: string): ValueInfo[];
  /**
   * Runs the method "forward". A typed array becomes a tensor with the program's shape, which must be static.
   * @returns the outputs; their arrays are copies
   * @throws RushlightError if an input does not fit the program
   */
  forward(...inputs: (Value | TensorData)[]): Value[];
  /** Runs the method `name`. */
  execute(name: string, ...inputs: (Value | TensorData)[]): Value[];
}
