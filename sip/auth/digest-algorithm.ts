/** The hashes of HTTP digest that SIP uses (RFC 8760). */
export type DigestAlgorithm = 'MD5' | 'SHA-256' | 'SHA-512-256'
