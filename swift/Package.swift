// swift-tools-version:5.7
// The C API for Swift, over Rushlight.xcframework, which docs/ios.md builds. Nobody has built this package yet.
import PackageDescription

let package = Package(
  name: "Rushlight",
  platforms: [.iOS(.v13), .macOS(.v11)],
  products: [.library(name: "Rushlight", targets: ["Rushlight"])],
  targets: [
    .binaryTarget(name: "CRushlight", path: "Rushlight.xcframework"),
    .target(name: "Rushlight", dependencies: ["CRushlight"], linkerSettings: [.linkedLibrary("c++")]),
    .testTarget(name: "RushlightTests", dependencies: ["Rushlight"]),
  ]
)
