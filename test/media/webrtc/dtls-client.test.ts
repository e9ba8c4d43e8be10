import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { fingerprintOf, makeCertificate, readPrivateKey } from '../../../media/webrtc/certificate.ts'
import { DtlsClient } from '../../../media/webrtc/dtls-client.ts'
import { readRecords } from '../../../media/webrtc/dtls-records.ts'
import type { SrtpKeys } from '../../../sip/sdp/sdes.ts'
import { suite } from '../../harness.ts'

const test = suite('media/webrtc/dtls-client')
const missing = spawnSync('openssl', ['version']).status === 0 ? null : 'not installed: openssl'
const sslTest = (sentence: string, run: () => unknown): void =>
  missing === null ? test(sentence, run, { timeoutMs: 30_000 }) : test.skip(sentence, missing)

const HOST = '127.0.0.1'
const OWN = makeCertificate(Date.now())
const folder = mkdtempSync(join(tmpdir(), 'dtls-'))
test.after(() => rmSync(folder, { recursive: true, force: true }))

function peerCertificate(name: string, ...key: string[]): { cert: string; key: string; fingerprint: string } {
  const [keyFile, certFile] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const request = ['req', '-x509', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', keyFile, '-out', certFile]
  execFileSync('openssl', [...request, ...key], { stdio: 'ignore' })
  const { raw } = new X509Certificate(readFileSync(certFile))
  return { cert: certFile, key: keyFile, fingerprint: fingerprintOf(raw, 'sha-256') }
}
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
const RSA = ['-newkey', 'rsa:2048']
const SRTP = ['-use_srtp', 'SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM']
/** It asks for our certificate, whoever has signed it. */
const VERIFY = ['-Verify', '1']

interface Outcome {
  client: DtlsClient
  keys: SrtpKeys | null
  output: string
}

interface Options {
  server: string[]
  lose?: (at: number) => boolean
  /** Changes a datagram of the server in transit. */
  alter?: (bytes: Buffer) => void
}

/** Runs a handshake with OpenSSL as the server, until it has printed its keys, or ours will never come. */
async function handshake(fingerprint: string, { server, lose = () => false, alter }: Options): Promise<Outcome> {
  const port = await freePort(HOST)
  const args = ['s_server', '-dtls1_2', '-accept', `${HOST}:${port}`, '-keymatexport', 'EXTRACTOR-dtls_srtp']
  const ssl = spawn('openssl', [...args, '-keymatexportlen', '60', ...server], { stdio: 'pipe' })
  let output = ''
  ssl.stdout.on('data', text => (output += text))
  ssl.stderr.on('data', text => (output += text))
  while (!output.includes('ACCEPT')) await new Promise(resolve => setTimeout(resolve, 10))
  const client = new DtlsClient({
    certificate: OWN.certificate,
    privateKey: readPrivateKey(OWN),
    fingerprint: { hash: 'sha-256', value: fingerprint },
  })
  const socket = createSocket('udp4').bind(0, HOST)
  await once(socket, 'listening')
  let [keys, count] = [null as SrtpKeys | null, 0]
  const send = (datagrams: Uint8Array[]): void => {
    for (const one of datagrams) if (!lose(count++)) socket.send(one, port, HOST)
  }
  socket.on('message', bytes => {
    if (lose(count++)) return
    alter?.(bytes)
    const reply = client.receive(bytes)
    keys ??= reply.keys
    send(reply.datagrams)
  })
  const isOver = (): boolean =>
    client.state === 'failed' ||
    (keys !== null && /Keying material: [0-9A-F]{120}/.test(output)) ||
    ssl.exitCode !== null
  for (let now = 0; !isOver() && now < 20_000; now += 20) {
    send(client.due(now))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  socket.close()
  ssl.kill('SIGKILL')
  return { client, keys, output }
}

/** Keys as RFC 5764 §4.2 cuts them out of what OpenSSL has exported: the client's first. */
function exported(output: string, keyBytes: number, saltBytes: number): { send: string; receive: string } {
  const block = Buffer.from(/Keying material: ([0-9A-F]+)/.exec(output)![1]!, 'hex')
  const part = (at: number, length: number): Buffer => block.subarray(at, at + length)
  const of = (side: 0 | 1): string =>
    Buffer.concat([part(side * keyBytes, keyBytes), part(2 * keyBytes + side * saltBytes, saltBytes)]).toString(
      'base64',
    )
  return { send: of(0), receive: of(1) }
}

sslTest(
  'RFC 5764 §4.2: as the client we have the same SRTP keys as OpenSSL, whose certificate is of P-256 or RSA',
  async () => {
    const cases = [
      { peer: peerCertificate('ec', ...EC), groups: ['-groups', 'X25519:P-256'] },
      { peer: peerCertificate('rsa', ...RSA), groups: ['-groups', 'P-256'] },
    ]
    for (const { peer, groups } of cases) {
      const server = [...SRTP, ...VERIFY, '-cert', peer.cert, '-key', peer.key, ...groups]
      const { client, keys, output } = await handshake(peer.fingerprint, { server })
      assert.is(client.state, 'connected', output)
      const { send, receive } = exported(output, 16, 14)
      assert.equal(keys, { suite: 'AES_CM_128_HMAC_SHA1_80', sendKey: send, receiveKey: receive })
      assert.match(output, /CN ?= ?tandem/, 'it has seen our certificate')
    }
  },
)

sslTest('RFC 6347 §4.2.1: a server that asks for a cookie first gets it', async () => {
  const peer = peerCertificate('cookie', ...EC)
  const server = [...SRTP, ...VERIFY, '-listen', '-cert', peer.cert, '-key', peer.key]
  const { client, keys, output } = await handshake(peer.fingerprint, { server })
  assert.is(client.state, 'connected', output)
  assert.is(keys?.sendKey, exported(output, 16, 14).send)
})

sslTest(
  'RFC 7714: with a far end that has AES-GCM alone it is that; one that does not ask for our certificate gets none',
  async () => {
    const peer = peerCertificate('gcm', ...EC)
    const server = ['-use_srtp', 'SRTP_AEAD_AES_128_GCM', '-cert', peer.cert, '-key', peer.key]
    const { keys, output } = await handshake(peer.fingerprint, { server })
    const { send, receive } = exported(output, 16, 12)
    assert.equal(keys, { suite: 'AEAD_AES_128_GCM', sendKey: send, receiveKey: receive })
  },
)

sslTest(
  'RFC 6347 §4.2.4: whatever datagram is lost, the handshake comes to its end; messages in small pieces are put together',
  async () => {
    const peer = peerCertificate('lossy', ...RSA)
    const server = [...SRTP, ...VERIFY, '-cert', peer.cert, '-key', peer.key]
    const runs = [0, 1, 2, 3].map(lost => handshake(peer.fingerprint, { server, lose: at => at === lost }))
    runs.push(handshake(peer.fingerprint, { server: [...server, '-mtu', '256'] }))
    for (const { client, keys, output } of await Promise.all(runs)) {
      assert.is(client.state, 'connected', output)
      assert.is(keys?.sendKey, exported(output, 16, 14).send)
    }
  },
)

sslTest(
  'who shows another certificate, or has none of our suites, gets no keys, nor does who does not own its key',
  async () => {
    const [peer, other] = [peerCertificate('right', ...EC), peerCertificate('wrong', ...EC)]
    const own = ['-cert', peer.cert, '-key', peer.key]
    let altered = 0
    const alter = (bytes: Buffer): void => {
      for (const { type, epoch, content } of readRecords(bytes)) {
        // The last byte of the signature in its ServerKeyExchange.
        if (type !== 22 || epoch !== 0 || content[0] !== 12) continue
        content[content.length - 1]! ^= 1
        altered++
      }
    }
    const cases: Options[] = [
      { server: [...SRTP, '-cert', other.cert, '-key', other.key] },
      { server: own },
      { server: [...SRTP, ...own], alter },
    ]
    for (const { client, keys } of await Promise.all(cases.map(one => handshake(peer.fingerprint, one)))) {
      assert.is(client.state, 'failed')
      assert.is(keys, null)
    }
    assert.ok(altered > 0)
  },
)

test('nothing that a stranger sends throws', () => {
  let seed = 7
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % below
  }
  const options = { certificate: OWN.certificate, privateKey: readPrivateKey(OWN) }
  for (let run = 0; run < 300; run++) {
    const client = new DtlsClient({ ...options, fingerprint: { hash: 'sha-256', value: '00' } })
    for (let i = 0; i < 8; i++) {
      const bytes = Uint8Array.from({ length: 13 + random(200) }, () => random(256))
      if (random(3) > 0) bytes.set([22, 254, 253, 0, random(2), 0, 0, 0, 0, 0, i, 0, bytes.length - 13])
      if (random(2) > 0 && bytes.length > 25)
        bytes.set([2 + random(2), 0, 0, bytes.length - 25, 0, 0, 0, 0, 0, 0, 0, bytes.length - 25], 13)
      assert.is(client.receive(bytes).keys, null)
    }
  }
})

test.run()
