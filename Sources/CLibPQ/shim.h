#pragma once
// Without pkg-config, Debian's headers are found in their own folder.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

// PG_DIAG_* are character constants, which Swift does not import.
static inline char *c_pq_sqlstate(const PGresult *result) { return PQresultErrorField(result, 'C'); }
static inline char *c_pq_constraint(const PGresult *result) { return PQresultErrorField(result, 'n'); }
static inline char *c_pq_message_primary(const PGresult *result) { return PQresultErrorField(result, 'M'); }
