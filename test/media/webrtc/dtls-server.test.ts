import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { fingerprintOf, makeCertificate, readPrivateKey } from '../../../media/webrtc/certificate.ts'
import { CERTIFICATE_VERIFY } from '../../../media/webrtc/dtls-handshake.ts'
import { readRecords } from '../../../media/webrtc/dtls-records.ts'
import { DtlsServer } from '../../../media/webrtc/dtls-server.ts'
import type { SrtpKeys } from '../../../sip/sdp/sdes.ts'
import { suite } from '../../harness.ts'

const test = suite('media/webrtc/dtls-server')
const missing = spawnSync('openssl', ['version']).status === 0 ? null : 'not installed: openssl'
const sslTest = (sentence: string, run: () => unknown): void =>
  missing === null ? test(sentence, run, { timeoutMs: 30_000 }) : test.skip(sentence, missing)

const OWN = makeCertificate(Date.now())
const folder = mkdtempSync(join(tmpdir(), 'dtls-'))
test.after(() => rmSync(folder, { recursive: true, force: true }))

/** A far end's certificate, made by OpenSSL. */
function peerCertificate(name: string, ...key: string[]): { cert: string; key: string; fingerprint: string } {
  const [keyFile, certFile] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const request = ['req', '-x509', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', certFile]
  execFileSync('openssl', [...request, ...key], { stdio: 'ignore' })
  const { raw } = new X509Certificate(readFileSync(certFile))
  return { cert: certFile, key: keyFile, fingerprint: fingerprintOf(raw, 'sha-256') }
}
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
const RSA = ['-newkey', 'rsa:2048']

interface Outcome {
  server: DtlsServer
  keys: SrtpKeys | null
  /** What OpenSSL has written. */
  output: string
}

/**
 * Runs a handshake with OpenSSL as the client, until it has printed its keys or both sides have given up.
 *
 * @param lose whether the n-th datagram between them is lost
 * @param alter changes a datagram of the client in transit
 */
async function handshake(
  fingerprint: string,
  client: string[],
  lose: (at: number) => boolean = () => false,
  alter: (bytes: Buffer) => void = () => {},
): Promise<Outcome> {
  const server = new DtlsServer({
    certificate: OWN.certificate,
    privateKey: readPrivateKey(OWN),
    fingerprint: { hash: 'sha-256', value: fingerprint },
  })
  const socket: Socket = createSocket('udp4')
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  let keys: SrtpKeys | null = null
  let count = 0
  socket.on('message', (bytes, from) => {
    if (lose(count++)) return
    alter(bytes)
    const reply = server.receive(bytes)
    keys ??= reply.keys
    for (const datagram of reply.datagrams) {
      if (!lose(count++)) socket.send(datagram, from.port, from.address)
    }
  })
  const { port } = socket.address() as AddressInfo
  const args = ['s_client', '-dtls1_2', '-connect', `127.0.0.1:${port}`, '-keymatexport', 'EXTRACTOR-dtls_srtp']
  const ssl: ChildProcess = spawn('openssl', [...args, '-keymatexportlen', '60', ...client], { stdio: 'pipe' })
  let output = ''
  const told = new Promise<void>(resolve => {
    const read = (text: Buffer): void => {
      output += text
      if (/Keying material: [0-9A-F]{120}|alert|:error:/i.test(output)) resolve()
    }
    ssl.stdout!.on('data', read)
    ssl.stderr!.on('data', read)
  })
  const exited = once(ssl, 'exit')
  await Promise.race([told, exited])
  ssl.kill('SIGKILL')
  await exited
  socket.close()
  return { server, keys, output }
}

/** Keys as RFC 5764 §4.2 cuts them out of what OpenSSL has exported. */
function exported(output: string, keyBytes: number, saltBytes: number): { send: string; receive: string } {
  const block = Buffer.from(/Keying material: ([0-9A-F]+)/.exec(output)![1]!, 'hex')
  const part = (at: number, length: number): Buffer => block.subarray(at, at + length)
  const of = (side: 0 | 1): string =>
    Buffer.concat([part(side * keyBytes, keyBytes), part(2 * keyBytes + side * saltBytes, saltBytes)]).toString(
      'base64',
    )
  return { send: of(1), receive: of(0) }
}

const SRTP = ['-use_srtp', 'SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM']

sslTest('our certificate is one that OpenSSL reads, and signed by its own key', () => {
  const certificate = new X509Certificate(Buffer.from(OWN.certificate))
  assert.ok(certificate.verify(certificate.publicKey))
  assert.ok(certificate.checkPrivateKey(createPrivateKey(readPrivateKey(OWN).export({ type: 'pkcs8', format: 'pem' }))))
  assert.ok(Date.parse(certificate.validFrom) < Date.now() && Date.parse(certificate.validTo) > Date.now())
  assert.is(fingerprintOf(OWN.certificate, 'sha-256'), certificate.fingerprint256)
})

sslTest(
  'RFC 5764 §4.2: both ends have the same SRTP keys, with keys of P-256 and of RSA, over X25519 and P-256',
  async () => {
    const cases = [
      { peer: peerCertificate('ec', ...EC), groups: 'X25519:P-256' },
      { peer: peerCertificate('rsa', ...RSA), groups: 'P-256' },
    ]
    for (const { peer, groups } of cases) {
      const client = [...SRTP, '-cert', peer.cert, '-key', peer.key, '-groups', groups]
      const { server, keys, output } = await handshake(peer.fingerprint, client)
      assert.is(server.state, 'connected', output)
      const { send, receive } = exported(output, 16, 14)
      assert.equal(keys, { suite: 'AES_CM_128_HMAC_SHA1_80', sendKey: send, receiveKey: receive })
      assert.match(output, /Extended master secret: yes/)
    }
  },
)

sslTest('RFC 7714: with a far end that has AES-GCM alone it is that', async () => {
  const peer = peerCertificate('gcm', ...EC)
  const client = ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-cert', peer.cert, '-key', peer.key]
  const { keys, output } = await handshake(peer.fingerprint, client)
  const { send, receive } = exported(output, 16, 12)
  assert.equal(keys, { suite: 'AEAD_AES_128_GCM', sendKey: send, receiveKey: receive })
})

sslTest('RFC 6347 §4.2.4: whatever datagram is lost, the handshake comes to its end', async () => {
  const peer = peerCertificate('lossy', ...EC)
  const client = [...SRTP, '-cert', peer.cert, '-key', peer.key]
  const runs = [0, 1, 2, 3].map(lost => handshake(peer.fingerprint, client, at => at === lost))
  for (const { server, keys, output } of await Promise.all(runs)) {
    assert.is(server.state, 'connected')
    assert.is(keys?.sendKey, exported(output, 16, 14).send)
  }
})

sslTest('RFC 6347 §4.2.3: messages in small pieces are put together', async () => {
  const peer = peerCertificate('pieces', ...RSA)
  const client = [...SRTP, '-cert', peer.cert, '-key', peer.key, '-mtu', '256']
  const { server, keys, output } = await handshake(peer.fingerprint, client)
  assert.is(server.state, 'connected', output)
  assert.is(keys?.sendKey, exported(output, 16, 14).send)
})

sslTest('who shows another certificate, none, or none of our suites, gets no keys', async () => {
  const [peer, other] = [peerCertificate('right', ...EC), peerCertificate('wrong', ...EC)]
  const own = ['-cert', peer.cert, '-key', peer.key]
  const cases = [
    [...SRTP, '-cert', other.cert, '-key', other.key],
    SRTP,
    own,
    [...SRTP, ...own, '-cipher', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    [...SRTP, ...own, '-groups', 'P-384'],
  ]
  for (const { server, keys } of await Promise.all(cases.map(client => handshake(peer.fingerprint, client)))) {
    assert.is(server.state, 'failed')
    assert.is(keys, null)
  }
})

sslTest('who shows the right certificate without owning its key gets no keys', async () => {
  const peer = peerCertificate('stolen', ...EC)
  let altered = 0
  const { server, keys } = await handshake(
    peer.fingerprint,
    [...SRTP, '-cert', peer.cert, '-key', peer.key],
    () => false,
    bytes => {
      for (const { type, epoch, content } of readRecords(bytes)) {
        if (type !== 22 || epoch !== 0 || content[0] !== CERTIFICATE_VERIFY) continue
        // The last byte of its signature.
        content[content.length - 1]! ^= 1
        altered++
      }
    },
  )
  assert.is(altered, 1)
  assert.is(server.state, 'failed')
  assert.is(keys, null)
})

test('nothing that a stranger sends throws, and it is counted', () => {
  const options = { certificate: OWN.certificate, privateKey: readPrivateKey(OWN) }
  let seed = 7
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % below
  }
  let refused = 0
  for (let run = 0; run < 300; run++) {
    const server = new DtlsServer({ ...options, fingerprint: { hash: 'sha-256', value: '00' } })
    for (let i = 0; i < 8; i++) {
      const bytes = Uint8Array.from({ length: 13 + random(200) }, () => random(256))
      // Usually it begins like a handshake record.
      if (random(3) > 0) bytes.set([22, 254, 253, 0, random(2), 0, 0, 0, 0, 0, i, 0, bytes.length - 13])
      if (random(2) > 0 && bytes.length > 25)
        bytes.set([1, 0, 0, bytes.length - 25, 0, 0, 0, 0, 0, 0, 0, bytes.length - 25], 13)
      assert.is(server.receive(bytes).keys, null)
    }
    refused += server.refused
  }
  assert.ok(refused > 0)
})

test.run()
