import Crypto
import EventLoop
import HTTP2
import HTTPServer

/// Why a simulator could not start.
package struct SimulatorError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
