import HTTP2

/// The HTTP/2 settings of the listeners, as they were seen on the live service.
enum ListenerSettings {
    static func configuration(_ configuration: SimulatorConfiguration) -> HTTP2ServerConfiguration {
        var settings = HTTP2ServerConfiguration()
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
        // As the live service was seen to say it.
        settings.overLimit = (0x7, "Maximum active streams violated for this endpoint.")
        if configuration.roundTrip > .zero { settings.outputDelay = configuration.roundTrip }
        return settings
    }
}
