#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Swift does not import macros over SSL_ctrl and SSL_CTX_ctrl.
static inline long c_ssl_set_server_name(SSL *ssl, const char *name) { return SSL_set_tlsext_host_name(ssl, name); }
static inline long c_ssl_ctx_set_mode(SSL_CTX *context, long mode) { return SSL_CTX_set_mode(context, mode); }
static inline int c_ssl_ctx_set_min_proto_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline long c_ssl_ctx_set_read_ahead(SSL_CTX *context, int on) { SSL_CTX_set_read_ahead(context, on); return 1; }
// Writes the DNS names of a certificate, a line each, as far as there is room; returns how many.
static inline int c_x509_names(X509 *certificate, char *text, size_t size) {
    GENERAL_NAMES *names = (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int written = 0;
    size_t used = 0;
    if (size > 0) text[0] = 0;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names) && written < 5; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS) continue;
        int length = ASN1_STRING_length(name->d.dNSName);
        if (length <= 0 || used + (size_t)length + 2 > size) break;
        for (int j = 0; j < length; j++) text[used++] = (char)ASN1_STRING_get0_data(name->d.dNSName)[j];
        text[used++] = 10;
        text[used] = 0;
        written++;
    }
    GENERAL_NAMES_free(names);
    return written;
}
static inline void c_ssl_ctx_refuse_renegotiation(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}
static inline long c_bio_pending(BIO *bio) { return (long)BIO_ctrl_pending(bio); }
static inline long c_bio_get_mem_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }
