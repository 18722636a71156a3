internal import Core
internal import Glibc

extension Service {
    /// Tells whoever started us where we serve, as a whole file or none.
    func writeReadyFile(_ listeners: Listeners, operatorKeyFile: String?) throws(ServiceFault) {
        guard let file = settings.readyFile else { return }
        let json = JSONOutput.object([
            ("url", listeners.url.map { .string($0) } ?? .null),
            ("metrics_url", .string(listeners.metricsURL)),
            ("operator_key_file", operatorKeyFile.map { .string($0) } ?? .null),
            ("pid", .int(Int(getpid()))),
        ])
        try writeWhole(String(decoding: json.bytes, as: UTF8.self) + "\n", to: file, mode: 0o644)
    }

    /// It no longer serves.
    func removeReadyFile() {
        if let file = settings.readyFile { unlink(file) }
    }
}
