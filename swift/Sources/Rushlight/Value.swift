import CRushlight
import Foundation

/// The type of the elements of a tensor. The numbers are equal to torch's.
public enum DataType: Int32 {
  case uint8 = 0, int8, int16, int32, int64, float16, float32, float64
  case bool = 11
  case bfloat16 = 15
  case uint16 = 27, uint32, uint64

  /// The bytes of one element.
  public var size: Int { rushlight_dtype_size(rushlight_dtype(UInt32(rawValue))) }
}

/// A Swift type that can be the element type of a tensor.
public protocol Element {
  static var dataType: DataType { get }
}

extension UInt8: Element { public static var dataType: DataType { .uint8 } }
extension Int8: Element { public static var dataType: DataType { .int8 } }
extension Int16: Element { public static var dataType: DataType { .int16 } }
extension Int32: Element { public static var dataType: DataType { .int32 } }
extension Int64: Element { public static var dataType: DataType { .int64 } }
extension Float: Element { public static var dataType: DataType { .float32 } }
extension Double: Element { public static var dataType: DataType { .float64 } }

/// A dense tensor in row-major order, with a copy of its elements.
public struct Tensor {
  public let shape: [Int]
  public let dataType: DataType
  public let bytes: Data

  /// Makes a tensor from the bytes of its elements.
  public init(bytes: Data, shape: [Int], dataType: DataType) throws {
    guard shape.count <= Int(RUSHLIGHT_MAX_RANK), shape.allSatisfy({ $0 >= 0 && $0 <= Int(Int32.max) }) else {
      throw RushlightError(
        code: Int(RUSHLIGHT_INVALID_ARGUMENT.rawValue), message: "the shape \(shape) is negative or too large")
    }
    var needed = dataType.size
    for size in shape {
      let (product, overflow) = needed.multipliedReportingOverflow(by: size)
      needed = overflow ? -1 : product
      if needed <= 0 { break }
    }
    if shape.contains(0) { needed = 0 }
    guard bytes.count == needed else {
      throw RushlightError(
        code: Int(RUSHLIGHT_INVALID_ARGUMENT.rawValue),
        message: "there are \(bytes.count) bytes; the shape \(shape) and the dtype \(dataType) need \(needed)")
    }
    self.bytes = bytes
    self.shape = shape
    self.dataType = dataType
  }

  /// Makes a tensor from its elements.
  public init<T: Element>(_ elements: [T], shape: [Int]) throws {
    try self.init(bytes: elements.withUnsafeBytes { Data($0) }, shape: shape, dataType: T.dataType)
  }

  /// Returns the elements, or throws if they are of another type.
  public func elements<T: Element>(_: T.Type = T.self) throws -> [T] {
    guard T.dataType == dataType else {
      throw RushlightError(
        code: Int(RUSHLIGHT_INVALID_TYPE.rawValue), message: "the tensor has the dtype \(dataType), not \(T.dataType)")
    }
    return [T](unsafeUninitializedCapacity: bytes.count / MemoryLayout<T>.stride) { buffer, count in
      count = bytes.copyBytes(to: buffer) / MemoryLayout<T>.stride
    }
  }
}

/// An input or output of a method.
public enum Value {
  case none
  case tensor(Tensor)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  case string(String)
  /// A list. This API does not read its elements, and does not accept it as an input.
  case list

  init(_ value: rushlight_value) throws {
    switch UInt32(value.kind) {
    case RUSHLIGHT_TENSOR.rawValue: self = .tensor(try Tensor(value))
    case RUSHLIGHT_INTEGER.rawValue: self = .integer(value.integer)
    case RUSHLIGHT_REAL.rawValue: self = .real(value.real)
    case RUSHLIGHT_BOOLEAN.rawValue: self = .boolean(value.integer != 0)
    case RUSHLIGHT_STRING.rawValue:
      self = .string(String(decoding: UnsafeRawBufferPointer(start: value.data, count: value.nbytes), as: UTF8.self))
    case RUSHLIGHT_NONE.rawValue: self = .none
    default: self = .list
    }
  }

  /// Converts the value for the runtime. Its bytes are copied to memory in `owned`, which the caller frees.
  func write(_ owned: inout [UnsafeMutableRawBufferPointer]) -> rushlight_value {
    var value = rushlight_value()
    func keep(_ bytes: Data) {
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 64)
      bytes.copyBytes(to: memory)
      owned.append(memory)
      value.data = memory.baseAddress
      value.nbytes = bytes.count
    }
    switch self {
    case .none, .list: value.kind = Int32(RUSHLIGHT_NONE.rawValue)
    case .integer(let number):
      value.kind = Int32(RUSHLIGHT_INTEGER.rawValue)
      value.integer = number
    case .real(let number):
      value.kind = Int32(RUSHLIGHT_REAL.rawValue)
      value.real = number
    case .boolean(let flag):
      value.kind = Int32(RUSHLIGHT_BOOLEAN.rawValue)
      value.integer = flag ? 1 : 0
    case .string(let text):
      value.kind = Int32(RUSHLIGHT_STRING.rawValue)
      keep(Data(text.utf8))
    case .tensor(let tensor):
      value.kind = Int32(RUSHLIGHT_TENSOR.rawValue)
      value.dtype = tensor.dataType.rawValue
      value.rank = Int32(tensor.shape.count)
      withUnsafeMutableBytes(of: &value.sizes) { sizes in
        let numbers = sizes.bindMemory(to: Int32.self)
        for (index, size) in tensor.shape.enumerated() { numbers[index] = Int32(size) }
      }
      keep(tensor.bytes)
    }
    return value
  }
}

extension Tensor {
  /// Copies a dense tensor of the runtime, in row-major order.
  fileprivate init(_ value: rushlight_value) throws {
    let rank = Int(value.rank)
    let shape = withUnsafeBytes(of: value.sizes) { $0.bindMemory(to: Int32.self).prefix(rank).map(Int.init) }
    let order = withUnsafeBytes(of: value.dim_order) { $0.prefix(rank).map(Int.init) }
    guard let dataType = DataType(rawValue: value.dtype) else {
      throw RushlightError(code: Int(RUSHLIGHT_NOT_SUPPORTED.rawValue), message: "an output has the dtype \(value.dtype)")
    }
    let given = UnsafeRawBufferPointer(start: value.data, count: value.nbytes)
    if order == Array(0..<rank) {
      try self.init(bytes: Data(given), shape: shape, dataType: dataType)
      return
    }
    let element = dataType.size
    var strides = [Int](repeating: 0, count: rank)
    var stride = element
    for dimension in order.reversed() {
      strides[dimension] = stride
      stride *= shape[dimension]
    }
    var bytes = Data(capacity: given.count)
    var index = [Int](repeating: 0, count: rank)
    var offset = 0
    while bytes.count < given.count {
      bytes.append(contentsOf: given[offset..<offset + element])
      for dimension in (0..<rank).reversed() {
        offset += strides[dimension]
        index[dimension] += 1
        if index[dimension] < shape[dimension] { break }
        offset -= strides[dimension] * shape[dimension]
        index[dimension] = 0
      }
    }
    try self.init(bytes: bytes, shape: shape, dataType: dataType)
  }
}
