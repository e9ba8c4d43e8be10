import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer, type TLSSocket } from 'node:tls'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product } from '../../../bench/product.ts'
import { OwnAddresses } from '../../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../../media/signalling/endpoint/sip-endpoint.ts'
import { Names } from '../../../media/signalling/names.ts'
import type { UaEvent } from '../../../sip/user-agent.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { type CertificateFiles, doorFrom, doorTo, makeCertificate } from '../../interop/peers/doors.ts'
import { Sipp } from '../../interop/peers/sipp.ts'
import { curtain, endedCall, invited } from '../scene.ts'

const HOST = '127.0.0.1'
const missing = missingPrograms('openssl')
const test = suite('e2e/signalling/sip-tls', { timeoutMs: 60_000, missing })

let product: Product
let tlsPort: number
const dir = mkdtempSync(join(tmpdir(), 'tandem-tls-'))
const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
const authorities = join(dir, 'authorities.pem')
/** The certificate of a SIP domain. */
let ofDomain: CertificateFiles
/** One that was valid until yesterday. */
let expired: CertificateFiles

test.before(async () => {
  makeCertificate(dir, [HOST])
  ofDomain = makeCertificate(mkdtempSync(join(dir, 'domain-')), [], 'somebody', ['sip:localhost'])
  expired = makeCertificate(mkdtempSync(join(dir, 'expired-')), [HOST])
  const again = ['x509', '-in', expired.cert, '-signkey', expired.key, '-days', '-1', '-out', expired.cert]
  execFileSync('openssl', again, { stdio: 'ignore' })
  writeFileSync(authorities, [cert, ofDomain.cert, expired.cert].map(file => readFileSync(file, 'utf8')).join(''))
  tlsPort = await freePort()
  product = await Product.start({
    env: {
      TANDEM_SIP_TLS_PORT: String(tlsPort),
      TANDEM_SIP_TLS_CERT: cert,
      TANDEM_SIP_TLS_KEY: key,
      NODE_EXTRA_CA_CERTS: authorities,
    },
  })
})
test.after(async () => {
  rmSync(dir, { recursive: true, force: true })
  await curtain(product)
})

test('the first screen names the port of SIP over TLS', () => {
  assert.match(product.output, `(UDP and TCP, TLS on port ${tlsPort})`)
})

test('a connection over TLS checks the certificate of its registrar, and registers', async () => {
  const { userId, account: auth } = await invited(product, 'tls@example.com')
  const { id } = await product.ok('POST', '/connections', {
    name: 'Carrier',
    kind: 'registration',
    transport: 'tls',
    host: HOST,
    port: tlsPort,
    auth: { username: auth.username, password: auth.password },
  })
  await product.until('it is registered', async () =>
    (await product.ok('GET', `/connections/${id}`)).status === 'registered' ? true : null,
  )
  const [registration] = (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations
  assert.is(registration.transport, 'tls')
  assert.match(registration.contact, new RegExp(`:${tlsPort};transport=tls$`))
})

const optionsOver = (callId: string): string => {
  const lines = [
    `OPTIONS sip:${HOST} SIP/2.0`,
    `Via: SIP/2.0/TLS ${HOST}:5099;rport;branch=z9hG4bK${callId}`,
    `From: <sip:probe@${HOST}>;tag=1`,
    `To: <sip:${HOST}>`,
    `Call-ID: ${callId}`,
    'CSeq: 1 OPTIONS',
    'Content-Length: 0',
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

test('OPTIONS over TLS is answered over the same connection', async () => {
  const socket = connect({ host: HOST, port: tlsPort, rejectUnauthorized: false })
  const answer = new Promise<string>((resolve, reject) => {
    socket.once('data', bytes => resolve(bytes.toString()))
    socket.once('error', reject)
  })
  socket.write(optionsOver('tls1'))
  assert.match(await answer, /^SIP\/2\.0 200 /)
  socket.destroy()
})

const noSipp = missingPrograms('sipp')
for (const scenario of ['call', 'hold', 'late-offer', 'unsupported-codec', 'not-found', 'unknown-dialog']) {
  const sentence = `${scenario}: over TLS it goes as over UDP`
  if (noSipp === null) test(sentence, () => overTls(scenario))
  else test.skip(sentence, noSipp)
}

async function overTls(scenario: string): Promise<void> {
  const door = await doorTo({ host: HOST, port: tlsPort }, 'tls')
  const to = scenario === 'not-found' ? '4040404' : '1002'
  try {
    await (await Sipp.caller(scenario, { host: HOST, port: door.port }, { to, transport: 'tcp' })).passed()
  } finally {
    door.close()
  }
}

for (const [scenario, status] of [
  ['answers', 'completed'],
  ['answers-and-hangs-up', 'completed'],
  ['busy', 'busy'],
] as const) {
  const sentence = `${scenario}: who is called over TLS gets every message over it`
  if (noSipp === null) test(sentence, () => calledOverTls(scenario, status))
  else test.skip(sentence, noSipp)
}

const sentence =
  'a certificate that names a SIP domain by its URI is good for that name, and for no other (RFC 5922 §7.1)'
if (noSipp === null) test(sentence, callsDomain)
else test.skip(sentence, noSipp)

async function callsDomain(): Promise<void> {
  const sipp = await Sipp.callee('answers-and-hangs-up', { transport: 'tcp' })
  const door = await doorFrom(sipp, ofDomain, 'tls')
  const called = async (host: string): Promise<string> => {
    const call = await product.ok('POST', '/calls', { to: `sip:callee@${host}:${door.port};transport=tls` })
    return (await endedCall(product, call.id)).status
  }
  try {
    assert.is(await called(HOST), 'failed')
    assert.is(await called('localhost'), 'completed')
    await sipp.passed()
  } finally {
    door.close()
  }
}

test('a far end that asks who connects gets our certificate (mutual TLS, RFC 5922 §7.4), and then its call', async () => {
  const ca = readFileSync(cert)
  const names: string[] = []
  const requests: string[] = []
  const server = createServer({ cert: ca, key: readFileSync(key), ca, requestCert: true }, (socket: TLSSocket) => {
    names.push(String(socket.getPeerCertificate().subject.CN))
    socket.on('data', bytes => requests.push(bytes.toString()))
  }).listen(0, HOST)
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const { id } = await product.ok('POST', '/calls', { to: `sip:callee@${HOST}:${port};transport=tls` })
    await product.until('the INVITE is there', async () => (requests.join('').startsWith('INVITE ') ? true : null))
    assert.equal(names, ['tandem'])
    await product.ok('POST', `/calls/${id}/hangup`)
  } finally {
    server.close()
  }
})

test('an expired certificate, or one of another host, is refused: nothing is sent, the call fails', async () => {
  for (const files of [expired, ofDomain]) {
    const requests: string[] = []
    const server = createServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) }, socket => {
      socket.on('data', bytes => requests.push(bytes.toString()))
      socket.on('error', () => {})
    }).listen(0, HOST)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { id } = await product.ok('POST', '/calls', { to: `sip:callee@${HOST}:${port};transport=tls` })
    assert.is((await endedCall(product, id)).status, 'failed')
    assert.equal(requests, [])
    server.close()
  }
})

async function calledOverTls(scenario: string, status: string): Promise<void> {
  const sipp = await Sipp.callee(scenario, { transport: 'tcp' })
  const door = await doorFrom(sipp, { cert, key }, 'tls')
  const { port } = door
  try {
    const call = await product.ok('POST', '/calls', { to: `sip:callee@${HOST}:${port};transport=tls` })
    if (scenario === 'answers') {
      await product.until('it is answered', async () =>
        (await product.ok('GET', `/calls/${call.id}`)).status === 'in_progress' ? true : null,
      )
      await product.ok('POST', `/calls/${call.id}/hangup`)
    }
    await sipp.passed()
    assert.is((await endedCall(product, call.id)).status, status)
    const ours = sipp.messages.filter(({ sent, text }) => !sent && /^[A-Z]+ sip:/.test(text))
    assert.ok(ours.length >= 2)
    for (const { text } of ours) assert.match(text, /^Via: SIP\/2\.0\/TLS /m)
  } finally {
    door.close()
  }
}

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${product.baseUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

test('new certificates are used after SIGHUP, for new connections: those that are open stay', async () => {
  const open = connect({ host: HOST, port: tlsPort, rejectUnauthorized: false })
  await once(open, 'secureConnect')
  assert.is(open.getPeerCertificate().subject.CN, 'tandem')
  const before = await metric('tandem_media_sip_tls_certificate_expiry_timestamp_seconds')
  const [oldCert, oldKey] = [readFileSync(cert), readFileSync(key)]
  writeFileSync(key, 'rubbish')
  process.kill(product.pids.supervisor, 'SIGHUP')
  await product.until('it is told of', async () => {
    const { certificates } = (await (await fetch(`${product.baseUrl}/readyz`)).json()) as { certificates: string }
    return certificates === 'outdated' ? true : null
  })
  makeCertificate(dir, [HOST], 'renewed')
  process.kill(product.pids.supervisor, 'SIGHUP')
  const renewed = await product.until('the new one is in use', async () => {
    const socket = connect({ host: HOST, port: tlsPort, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN === 'renewed' ? true : null
  })
  assert.ok(renewed)
  assert.ok((await metric('tandem_media_sip_tls_certificate_expiry_timestamp_seconds')) > before)
  assert.is(await metric('tandem_media_credential_files_outdated'), 0)
  const answer = new Promise<string>(resolve => open.once('data', bytes => resolve(bytes.toString())))
  open.write(optionsOver('tls2'))
  assert.match(await answer, /^SIP\/2\.0 200 /)
  open.destroy()
  writeFileSync(cert, oldCert)
  writeFileSync(key, oldKey)
})

test('media that is started again under files that cannot be used comes up, and has TLS again as soon as they can', async () => {
  const oldKey = readFileSync(key)
  const handshake = async (): Promise<string> => {
    const socket = connect({ host: HOST, port: tlsPort, rejectUnauthorized: false })
    const outcome = await Promise.race([
      once(socket, 'secureConnect').then(() => 'open'),
      once(socket, 'close').then(() => 'refused'),
    ]).catch(() => 'refused')
    socket.destroy()
    return outcome
  }
  const certificates = async () =>
    ((await (await fetch(`${product.baseUrl}/readyz`)).json()) as { certificates?: string }).certificates
  writeFileSync(key, 'rubbish')
  const killed = product.pids.media
  process.kill(killed, 'SIGKILL')
  await product.until('media is back, and says so', async () =>
    product.pids.media !== killed && (await certificates()) === 'outdated' ? true : null,
  )
  const phone = await Phone.open('plain')
  const call = await phone.call('1002', product.sip)
  await call.hangup()
  await phone.close()
  assert.is(await handshake(), 'refused')
  writeFileSync(key, oldKey)
  process.kill(product.pids.supervisor, 'SIGHUP')
  await product.until('TLS is back', async () => ((await handshake()) === 'open' ? true : null))
  await product.until('it is told', async () => ((await certificates()) === 'current' ? true : null))
})

test('a certificate of an unknown authority is refused: nothing is sent, the call fails', async () => {
  const events: UaEvent[] = []
  let caller: SipEndpoint | null = null
  const ended = new Promise<void>(resolve => {
    const endpoint = new SipEndpoint({
      addresses: new OwnAddresses([HOST], []),
      port: 0,
      names: new Names(),
      productName: 'test',
      optionsStatus: () => ({ status: 200 }),
      onEvent: event => {
        events.push(event)
        if (event.kind === 'rejected') setImmediate(resolve)
      },
    })
    caller = endpoint
    void endpoint.listen().then(() =>
      endpoint.invite({
        to: `sip:1002@${HOST}:${tlsPort};transport=tls`,
        from: `sip:caller@${HOST}`,
        body: { type: 'application/sdp', bytes: Buffer.from('v=0\r\n') },
      }),
    )
  })
  await ended
  ;(caller as SipEndpoint | null)?.close()
  const [event] = events
  assert.ok(event?.kind === 'rejected' && event.status === 503 && event.origin === 'local')
})

test.run()
