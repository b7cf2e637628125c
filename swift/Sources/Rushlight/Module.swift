import CRushlight
import Foundation

/// An error of the runtime.
public struct RushlightError: Error, CustomStringConvertible {
  /// The number of the status, as in the ExecuTorch runtime.
  public let code: Int
  public let message: String
  public var description: String { message }
}

func check(_ status: rushlight_status) throws {
  if status != RUSHLIGHT_OK {
    throw RushlightError(code: Int(status.rawValue), message: String(cString: rushlight_last_error()))
  }
}

/// A program and its methods. One thread at a time uses a module; several modules can run at the same time.
public final class Module {
  private let program: OpaquePointer
  private var methods: [String: OpaquePointer] = [:]

  /// Loads a program from a file, which is mapped into memory.
  public init(path: String) throws {
    var loaded: OpaquePointer?
    try check(rushlight_program_load(path, &loaded))
    program = loaded!
  }

  deinit {
    methods.values.forEach { rushlight_method_free($0) }
    rushlight_program_free(program)
  }

  /// The names of the methods.
  public var methodNames: [String] {
    (0..<rushlight_program_method_count(program)).map { String(cString: rushlight_program_method_name(program, $0)) }
  }

  /// Loads a method, so that its first run takes no longer than later runs.
  public func loadMethod(_ name: String) throws {
    _ = try method(name)
  }

  /// Runs the method "forward".
  public func forward(_ inputs: [Value]) throws -> [Value] {
    try execute("forward", inputs)
  }

  /// Runs a method with all its inputs. Output tensors are copies in row-major order.
  public func execute(_ name: String, _ inputs: [Value]) throws -> [Value] {
    let method = try self.method(name)
    for (index, input) in inputs.enumerated() {
      if case .list = input {
        throw RushlightError(code: Int(RUSHLIGHT_INVALID_TYPE.rawValue), message: "input \(index) is a list")
      }
    }
    // The bytes of inputs stay valid until the method has been executed.
    var owned: [UnsafeMutableRawBufferPointer] = []
    defer { owned.forEach { $0.deallocate() } }
    let values = inputs.map { $0.write(&owned) }
    try check(rushlight_method_run(method, values, values.count))
    var info = rushlight_method_info()
    info.struct_size = MemoryLayout<rushlight_method_info>.size
    try check(rushlight_program_method_info(program, name, &info))
    return try (0..<info.outputs).map { index in
      var value = rushlight_value()
      try check(rushlight_method_output(method, index, &value))
      return try Value(value)
    }
  }

  private func method(_ name: String) throws -> OpaquePointer {
    if let loaded = methods[name] { return loaded }
    var loaded: OpaquePointer?
    try check(rushlight_method_load(program, name, nil, &loaded))
    methods[name] = loaded
    return loaded!
  }
}
