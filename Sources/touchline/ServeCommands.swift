extension Command {
    static let serve = Command("serve", "run the service", example: "touchline serve") { _ throws(Failure) in
        throw Failure(.failed, "serve is not there yet")
    }

    static let migrate = Command("migrate", "bring the database's tables up to date", example: "touchline migrate") {
        _ throws(Failure) in
        throw Failure(.failed, "migrate is not there yet")
    }

    static let keyBootstrap = Command(
        "key bootstrap",
        "make the first operator key, straight in the database",
        example: "touchline key bootstrap"
    ) { _ throws(Failure) in
        throw Failure(.failed, "key bootstrap is not there yet")
    }
}
