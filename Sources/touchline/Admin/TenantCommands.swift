internal import Core
internal import Executables

extension Command {
    static let tenants: [Command] = [
        AdminCommand.one(
            "tenant create",
            "make a tenant (operator)",
            arguments: [Argument("NAME", "what it is called")],
            example: "touchline tenant create acme"
        ) { invocation throws(Failure) in
            .init(method: "POST", path: "/v1/tenants", body: ["name": .string(invocation.words[0])])
        },
        AdminCommand.list(
            "tenant list",
            "all tenants (operator)",
            columns: [.init("TENANT", "tenant", isID: true), .init("NAME", "name"), .init("PAUSED", "paused")],
            example: "touchline tenant list"
        ) { _ in "/v1/tenants" },
        AdminCommand.one(
            "tenant show",
            "one tenant",
            arguments: [Argument("TENANT", "t_…")],
            example: "touchline tenant show $TOUCHLINE_TENANT"
        ) { invocation in .init(method: "GET", path: AdminCommand.path("tenants", invocation.words[0])) },
        AdminCommand.one(
            "tenant set",
            "rename, pause or resume a tenant (operator)",
            arguments: [Argument("TENANT", "t_…")],
            options: [
                Option("--name", "NAME", "what it is called"),
                Option("--paused", "YES|NO", "whether its pushes wait; ends still go out"),
            ],
            example: "touchline tenant set $TOUCHLINE_TENANT --name acme-sports"
        ) { invocation throws(Failure) in
            .init(
                method: "PATCH",
                path: AdminCommand.path("tenants", invocation.words[0]),
                body: .members([
                    ("name", AdminCommand.text("--name", invocation)),
                    ("paused", try AdminCommand.yesOrNo("--paused", invocation)),
                ])
            )
        },
    ]

    static let keys: [Command] = [
        AdminCommand.one(
            "key create",
            "make an API key of a tenant; its secret is shown once",
            options: [
                Option("--role", "ROLE", isRequired: true, "admin, feed, app or read"),
                Option("--expires-at", "TIME", "RFC 3339; else it does not expire"),
            ],
            example: "touchline key create --role feed"
        ) { invocation throws(Failure) in
            .init(
                method: "POST",
                path: AdminCommand.path("tenants", try invocation.required("--tenant"), "keys"),
                body: .members([
                    ("role", .string(try invocation.required("--role"))),
                    ("expires_at", AdminCommand.text("--expires-at", invocation)),
                ])
            )
        },
        AdminCommand.list(
            "key list",
            "a tenant's keys, without their secrets",
            columns: [
                .init("KEY", "key", isID: true), .init("ROLE", "role"), .init("EXPIRES", "expires_at"),
                .init("REVOKED", "revoked_at"),
            ],
            example: "touchline key list"
        ) { invocation throws(Failure) in
            AdminCommand.path("tenants", try invocation.required("--tenant"), "keys")
        },
        AdminCommand.one(
            "key delete",
            "revoke a key at once",
            arguments: [Argument("KEY", "k_…, not the secret")],
            example: #"touchline key delete $(touchline key list | awk '/feed/ {print $1}')"#
        ) { invocation throws(Failure) in
            .init(
                method: "DELETE",
                path: AdminCommand.path("tenants", try invocation.required("--tenant"), "keys", invocation.words[0])
            )
        },
    ]
}
