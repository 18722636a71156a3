/// Is told of requests before their bytes leave; for what must not be sent twice.
package protocol DepartureWitness: AnyObject, Sendable {
    /// The kernel gets bytes of these requests when this returns: from here on they may arrive, perhaps not for the first time.
    /// Called on the connection's loop, which waits for it.
    ///
    /// - Parameter numbers: As they were submitted with.
    func handedOut(_ numbers: [Int])
}

/// The requests of one connection that somebody watches and whose bytes have not left, in the order of their bytes.
struct Departures {
    private struct Watched {
        /// Which byte of the connection is the request's first.
        let firstByte: Int
        let witness: any DepartureWitness
        let number: Int
    }

    private var watched: [Watched] = []

    mutating func watch(_ number: Int, from firstByte: Int, by witness: any DepartureWitness) {
        watched.append(Watched(firstByte: firstByte, witness: witness, number: number))
    }

    /// Tells of those that begin before byte `end` of the connection.
    mutating func depart(before end: Int) {
        guard let first = watched.first, first.firstByte < end else { return }
        let leaving = watched.prefix { $0.firstByte < end }
        var rest = leaving
        while let witness = rest.first?.witness {
            let run = rest.prefix { $0.witness === witness }
            witness.handedOut(run.map(\.number))
            rest = rest.dropFirst(run.count)
        }
        watched.removeFirst(leaving.count)
    }
}
