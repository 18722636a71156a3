/// First in, first out, without moving what is behind.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == elements.count }

    var first: Element? { start < elements.count ? elements[start] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start]
        elements[start] = nil
        start += 1
        if start == elements.count {
            elements.removeAll(keepingCapacity: start <= 4096)
            start = 0
        } else if start >= 1024, start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Takes out what meets `condition`, in order.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let all = elements[start...].compactMap(\.self)
        elements = all.filter { !condition($0) }
        start = 0
        return all.filter(condition)
    }
}
