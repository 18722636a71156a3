internal import CLinux

/// The processors that this process may run on, which `taskset` and containers limit.
enum Processors {
    static var usable: Int {
        max(1, Int(c_usable_processors()))
    }
}
