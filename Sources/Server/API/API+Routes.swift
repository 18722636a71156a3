internal import Core

extension API {
    /// Every call of the API.
    static let routes: [Route] = [
        Route("GET /healthz", .open) { api, call in api.health(call) },
        Route("GET /readyz", .open) { api, call in try await api.readiness(call) },

        Route("POST /v1/tenants", .operators) { api, call in try await api.createTenant(call) },
        Route("GET /v1/tenants", .operators) { api, call in try await api.listTenants(call) },
        Route("GET /v1/tenants/{tenant}", .tenantInPath([.admin])) { api, call in try await api.showTenant(call) },
        Route("PATCH /v1/tenants/{tenant}", .operators) { api, call in try await api.changeTenant(call) },
        Route("POST /v1/tenants/{tenant}/keys", .tenantInPath([.admin])) { api, call in
            try await api.createKey(call)
        },
        Route("GET /v1/tenants/{tenant}/keys", .tenantInPath([.admin])) { api, call in try await api.listKeys(call) },
        Route("DELETE /v1/tenants/{tenant}/keys/{key}", .tenantInPath([.admin])) { api, call in
            try await api.revokeKey(call)
        },

        // Before the routes whose last segment is any environment.
        Route("GET /v1/apps/{bundle}/types", .tenant([.admin, .read])) { api, call in try await api.listTypes(call) },
        Route("PUT /v1/apps/{bundle}/types/{type}", .tenant([.admin])) { api, call in try await api.putType(call) },
        Route("GET /v1/apps/{bundle}/types/{type}", .tenant([.admin, .read])) { api, call in
            try await api.showType(call)
        },
        Route("GET /v1/apps", .tenant([.admin, .read])) { api, call in try await api.listApps(call) },
        Route("PUT /v1/apps/{bundle}/{environment}", .tenant([.admin])) { api, call in try await api.putApp(call) },
        Route("GET /v1/apps/{bundle}/{environment}", .tenant([.admin, .read])) { api, call in
            try await api.showApp(call)
        },
        Route("PATCH /v1/apps/{bundle}/{environment}", .tenant([.admin])) { api, call in
            try await api.changeApp(call)
        },

        Route("GET /v1/matches", .tenant([.admin, .feed, .app, .read])) { api, call in
            try await api.listMatches(call)
        },
        Route("PUT /v1/matches/{match}", .tenant([.admin, .app])) { api, call in try await api.putMatch(call) },
        Route("GET /v1/matches/{match}", .tenant([.admin, .feed, .app, .read])) { api, call in
            try await api.showMatch(call)
        },
        Route("PATCH /v1/matches/{match}", .tenant([.admin])) { api, call in try await api.changeMatch(call) },
        Route("DELETE /v1/matches/{match}", .tenant([.admin, .app])) { api, call in try await api.deleteMatch(call) },

        Route(
            "POST /v1/events",
            .tenant([.admin, .feed]),
            lines: { api, call, exchange in
                try await api.postEventLines(call, exchange)
            }
        ),
        Route("POST /v1/matches/{match}/events", .tenant([.admin, .feed])) { api, call in
            try await api.postEvent(call)
        }.readingAhead,
        Route("POST /v1/matches/{match}/preview", .tenant([.admin, .feed, .read])) { api, call in
            try await api.previewEvent(call)
        },
        Route("GET /v1/matches/{match}/events", .tenant([.admin, .feed, .read])) { api, call in
            try await api.listEvents(call)
        },
        Route("GET /v1/matches/{match}/deliveries", .tenant([.admin, .feed, .read])) { api, call in
            try await api.showDeliveries(call)
        },

        Route("DELETE /v1/matches/{match}/end", .tenant([.admin, .feed])) { api, call in
            try await api.withdrawEnd(call)
        },
        Route("DELETE /v1/matches/{match}/order", .tenant([.admin, .feed])) { api, call in
            try await api.resetOrder(call)
        },
        Route("GET /v1/matches/{match}/channel", .tenant([.admin, .app, .read])) { api, call in
            try await api.showChannel(call)
        },
        Route("POST /v1/matches/{match}/starts", .tenant([.admin, .app])) { api, call in
            try await api.startMatch(call)
        },
        Route("GET /v1/matches/{match}/starts", .tenant([.admin, .app, .read])) { api, call in
            try await api.showStarts(call)
        },
        Route("GET /v1/devices", .tenant([.admin, .app, .read])) { api, call in try await api.listDevices(call) },
        Route("PUT /v1/devices/{device}", .tenant([.admin, .app])) { api, call in try await api.putDevice(call) },
        Route("PATCH /v1/devices/{device}", .tenant([.admin, .app])) { api, call in try await api.changeDevice(call) },
        Route("DELETE /v1/devices/{device}", .tenant([.admin, .app])) { api, call in
            try await api.deleteDevice(call)
        },
        Route(
            "POST /v1/devices",
            .tenant([.admin, .app]),
            lines: { api, call, exchange in
                try await api.postDeviceLines(call, exchange)
            }
        ),
        Route("GET /v1/channels", .tenant([.admin, .read])) { api, call in try await api.listChannels(call) },
        Route("POST /v1/channels", .tenant([.admin])) { api, call in try await api.makeChannels(call) },
        Route("DELETE /v1/channels/{id}", .tenant([.admin])) { api, call in try await api.deleteChannel(call) },
        Route("POST /v1/channels/audit", .tenant([.admin])) { api, call in try await api.auditChannels(call) },

        Route("PUT /v1/matches/{match}/activities/{activity}", .tenant([.admin, .app])) { api, call in
            try await api.putActivity(call)
        },
        Route("DELETE /v1/matches/{match}/activities/{activity}", .tenant([.admin, .app])) { api, call in
            try await api.deleteActivity(call)
        },
        Route(
            "POST /v1/matches/{match}/activities",
            .tenant([.admin, .app]),
            lines: { api, call, exchange in
                try await api.postActivityLines(call, exchange)
            }
        ),
    ]
}
