// Keys of other kinds, made with `openssl genpkey` for these tests and used nowhere else.

let secp384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDszF40S/mfcBuWe6ID
    ytCPws6cMzfV5hXDVHEJF4ujUHRzGwT+vFTogzcnqHZq3IChZANiAATYQu9n6f+N
    TcCVIDi9esnlSTa6vwUdHjHquQ5lhyGlBx8lUob1zASmGY73v3jcJWYo+7VdhrGU
    jwcvguDmen+3iHRGTmGqm3TYWwXicEekkfTYNtbBkd6faUc1VNlpvkk=
    -----END PRIVATE KEY-----
    """

let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBALb/i1T1jnebRzVr
    clT2vG6+kWXOBs4193wrNHfkiOquCOTZlc+NONSC+ewCUjuU8kjGymhOO1NHGjul
    3FQ/cUBkwxScjORn3Pw0XCJ6UBA2OQarKH+SK4mNqzhUAcX2AqVouT/lSPon9sSo
    vFj/4hGsGQHhCKyykOgi5dYj3jtPAgMBAAECgYAH1oQqPGZAuzbek96Oww6pE6J4
    oM1r0aXq/JK/u9sdahzZaHRhMmRHveBkemj5QlTqRxFuTEOAOqBmA6GfPiRkkgen
    LYozhqnJRewDKe+On01rWtSMif54YUT715eL6MIeg7lFn6wGHX7w4PrIjmr6To8J
    sTRt4VVyRmM76ErieQJBAPBbnrqQXluWZYpUQJtXpqmxTugAErliUAyoUcY4vHm8
    vWysWankb2rZC++mSaaETDmIf1gnUZoZB3AIDyAz36MCQQDC6E7U0adB34mmLKDZ
    hhZLrsht5OcwPxzkBaBeO/7JhHHk56hnM37V04qVLxdbO5iefeHRMPdYAVpIwO5d
    bQBlAkBZIMBVUh+LOtPgXamvcOs+VZ967DwFPm2MpAXeyT8qrVBYsfh1xV2Dc4S3
    kyQQeVKCqxj9qWbbC5j0dCiXumSdAkAS2u5lYDLSCJIEZWTaJkKZ57q0BuTmofRl
    irXM5/jp/coW3uJHuY+Xl/NcI0YbKVTGYF8sIZSMCvV0/FUS7KyRAkEArv5H9xVy
    wdP9TvKn8L6i1DK9WmvMqgzXzhTlnMQWvW4BF68lLt8VO9YTdLY9lxDc/PJf98Tv
    tTwajAru+pgEaA==
    -----END PRIVATE KEY-----
    """

let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJxWKo3cD9ieWa0B0UEFln3ROmzQ4HILiyYJ1qEqUxbr
    -----END PRIVATE KEY-----
    """
