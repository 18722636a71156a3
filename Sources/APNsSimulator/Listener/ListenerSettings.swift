import HTTP2

/// The HTTP/2 settings of the listeners, as they were seen on the live service.
enum ListenerSettings {
    static func configuration(isUnread: Bool, _ configuration: SimulatorConfiguration) -> HTTP2ServerConfiguration {
        var settings = HTTP2ServerConfiguration()
        settings.reading = isUnread ? .nothing : .whole
        settings.headerTableBytes = 4096
        settings.maxConcurrentStreams = configuration.initialStreams
        settings.streamWindowBytes = 65_535
        settings.connectionWindowBytes = 65_535
        settings.maxFrameBytes = 16_384
        settings.maxHeaderListBytes = 8000
        // Far above every payload's limit, so that the checks answer what is only somewhat too large.
        settings.maxBodyBytes = 64 << 10
        // Each change of the stream limit is acknowledged by a frame that counts as control, and resets are scripted.
        settings.flood.controlBurst = 1 << 40
        settings.flood.resetBurst = 1 << 40
        if configuration.roundTrip > .zero { settings.outputDelay = configuration.roundTrip }
        return settings
    }
}
