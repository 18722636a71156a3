/// On which loop a batch is sent.
///
/// A lane's connections cost APNs and us something, so a lane with little to do keeps to one loop, its home; one that has
/// more than a connection's worth in hand there takes the loop that has least to do.
enum ShardChoice {
    /// Pushes in hand up to which a batch goes to its lane's home: about what a connection's window holds.
    static let homeLoad = 256

    /// - Parameters:
    ///   - home: Any number, the same for each batch of a lane.
    ///   - loads: Pushes in hand of each loop, those on their way to it included. Not empty.
    /// - Returns: The loop's number.
    static func loop(home: Int, loads: [Int]) -> Int {
        let home = Int(UInt(bitPattern: home) % UInt(loads.count))
        guard loads[home] > homeLoad else { return home }
        // Beginning behind home, so that equal ones take turns with the lanes.
        return (1..<loads.count).reduce(home) { least, offset in
            let loop = (home + offset) % loads.count
            return loads[loop] < loads[least] ? loop : least
        }
    }
}
