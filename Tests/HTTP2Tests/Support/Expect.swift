import Testing

/// `#expect` of a mutating call.
func expect<Value: Equatable>(
    _ value: Value,
    _ expected: Value,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}
