import Crypto
import Glibc

extension APNsSimulator {
    /// What a script needs to use the simulator, as JSON: addresses, the authority's file, the credential.
    package var readyJSON: [UInt8] {
        var json = JSONWriter()
        json.object { object in
            for environment in SimulatedEnvironment.allCases {
                object.name(environment.rawValue)
                object.object {
                    $0.member("push", "localhost:\(port(environment, .push))")
                    $0.member("manage", "localhost:\(port(environment, .manage))")
                }
            }
            object.member("control", controlURL)
            object.member("ca_file", caFile)
            object.name("credential")
            object.object {
                $0.member("team_id", teamID)
                $0.member("key_id", keyID)
                $0.member("p8_file", p8File)
            }
        }
        return json.bytes
    }

    /// Writes ``readyJSON`` to a file that appears whole.
    package func writeReadyFile(_ path: String) throws(SimulatorError) {
        do throws(CryptoError) {
            try SimulatorFiles.write(readyJSON + [0x0A], to: path)
        } catch {
            guard case .file(_, let code) = error else { throw SimulatorError("cannot write \(path): \(error)") }
            throw SimulatorError("cannot write the ready-file \(path): \(String(cString: strerror(code)))")
        }
    }
}
