/// What an accepted push's stamp is to those that its token or channel got before.
enum StampOrder: Equatable {
    case newer
    /// The newest stamp again, which came at this UNIX second.
    case same(since: UInt32)
    /// Below the newest, which came at this UNIX second: the phone drops the push.
    case older(since: UInt32)
}
