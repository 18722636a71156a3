internal import Core
internal import Executables

/// Devices that follow a match, on which it is to be started by push: at most once each.
extension MatchPlay {
    /// Registers devices: before the match is made, its pass starts them; behind that, each is started by itself.
    func follow(_ count: Int) async {
        let devices = (0..<count).map { index in
            DeviceBook(device: "\(book.match)-\(book.devices.count + index)", token: phoneDice.token())
        }
        book.devices += devices
        await modelled(devices.map(\.token))
        await withDiscardingTaskGroup { group in
            for device in devices { group.addTask { await self.put(device) } }
        }
    }

    private func put(_ device: DeviceBook) async {
        let body: JSONOutput = [
            "bundle": .string(app.bundle), "environment": .string(app.environment),
            "push_to_start_token": .string(device.token), "supports_channels": .bool(!app.channelCadences.isEmpty),
            "frequent_pushes_enabled": true, "topics": [.string("match:\(book.match)")],
        ]
        guard let answer = await client.call("PUT", "/v1/devices/\(device.device)", body.bytes, by: giveUp) else {
            complaints.append("\(device.device) could not be registered")
            return
        }
        if answer.status >= 300 {
            complaints.append("\(device.device) was answered \(answer.status): \(answer.text)")
        }
    }
}
