import XCTest

@testable import Rushlight

/// RUSHLIGHT_PROGRAM is the path of a program with forward(x[2, 3]) = x + 1.
final class ModuleTests: XCTestCase {
  private func module() throws -> Module {
    let path = try XCTUnwrap(ProcessInfo.processInfo.environment["RUSHLIGHT_PROGRAM"])
    return try Module(path: path)
  }

  func testRunsAProgram() throws {
    let module = try module()
    XCTAssertEqual(module.methodNames, ["forward"])
    let input = try Tensor([Float](repeating: 1, count: 6), shape: [2, 3])
    guard case .tensor(let sum) = try module.forward([.tensor(input)])[0] else { return XCTFail("no tensor") }
    XCTAssertEqual(sum.shape, [2, 3])
    XCTAssertEqual(try sum.elements(Float.self), [Float](repeating: 2, count: 6))
    XCTAssertThrowsError(try sum.elements(Int64.self))
  }

  func testWrongInputsAreErrors() throws {
    let module = try module()
    XCTAssertThrowsError(try module.forward([]))
    XCTAssertThrowsError(try module.forward([.list]))
    XCTAssertThrowsError(try module.forward([.tensor(Tensor([Float](), shape: [0]))]))
    XCTAssertThrowsError(try module.execute("backward", []))
    XCTAssertThrowsError(try Tensor([Float](), shape: [1]))
    XCTAssertThrowsError(try Module(path: "absent.pte"))
  }
}
