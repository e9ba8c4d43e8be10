import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { Product } from '../../bench/product.ts'
import { NOT_JUDGED } from '../../control/trunks/caller-identity.ts'
import { Certificates } from '../../media/identity/certificates.ts'
import { certificatesIn } from '../../media/identity/chain.ts'
import { Signer, signingKey } from '../../media/identity/signer.ts'
import { Verifier } from '../../media/identity/verifier.ts'
import { curtain } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Authority, CertificateServer } from '../media/identity/authority.ts'
import { Secsipidx } from './peers/secsipidx.ts'
import { Sipp, type SippOptions } from './peers/sipp.ts'
import { withoutOptions } from './peers/without-options.ts'

const missing = missingPrograms('sipp', 'openssl')
const withoutSecsipidx = missingPrograms('secsipidx')
const test = suite('interop/identity', { timeoutMs: 60_000, together: true, missing })
const HOST = '127.0.0.1'
/** The far end's host in URIs. */
const NAME = '127.0.0.9'
/** Addresses of SIPp as a trusted carrier, as an untrusted one, and as carriers whose calls are signed or show the caller. */
const [CARRIER, STRANGER, SIGNING, SHOWING] = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
const NOBODY = '"Anonymous" <sip:anonymous@anonymous.invalid>'
const ANONYMOUS = 'sip:anonymous@anonymous.invalid'
const [ANN, OURS] = ['+12125550142', '+12125550190']

let product: Product
let authority: Authority
let certificates: CertificateServer
let signer: Signer
/** The URL of the far end's certificate, and the file of its key. */
let theirCertificate: string, theirKey: string
/** A signer whose certificate is not found at its URL. */
let lost: Signer
test.before(async () => {
  authority = new Authority()
  certificates = await CertificateServer.listen()
  const [ours, theirs] = [authority.provider(), authority.provider()]
  const by = { key: signingKey(theirs.key), now: Date.now }
  theirCertificate = certificates.serve('/theirs.pem', theirs.chain)
  theirKey = theirs.keyFile
  signer = new Signer({ ...by, x5u: theirCertificate })
  lost = new Signer({ ...by, x5u: theirCertificate.replace('theirs', 'gone') })
  product = await Product.start({
    env: {
      TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8',
      TANDEM_STIR_KEY: ours.keyFile,
      TANDEM_STIR_CERT_URL: certificates.serve('/ours.pem', ours.chain),
      TANDEM_STIR_TRUST_ANCHORS: authority.anchorsFile,
    },
  })
  await product.ok('POST', '/phone_numbers', { number: OURS })
  const peer = { name: 'Carrier', kind: 'peer' }
  await product.ok('POST', '/connections', { ...peer, allowed_ips: [CARRIER], trust_identity: true })
  await product.ok('POST', '/connections', { ...peer, allowed_ips: [STRANGER] })
  await product.ok('POST', '/connections', { ...peer, allowed_ips: [SIGNING], verify_calls: 'require' })
  await product.ok('POST', '/connections', { ...peer, allowed_ips: [SHOWING], verify_calls: 'show' })
  // On a busy machine fetching a certificate may take longer than a call waits; later calls find it in the cache.
  await product.until('the certificate is there', async () => {
    const { call } = await incoming(`<sip:${ANN}@gw>`, to => signed(to, ANN), { from: SHOWING })
    return call.identity.verification === 'verified' ? true : null
  })
})
test.after(async () => {
  await curtain(product)
  for (const door of doors) door.close()
  certificates.close()
  authority.close()
})

let called = 15550000
/** Sends an INVITE with these header lines. @returns the call as the API shows it, and its first event */
async function incoming(
  caller: string,
  said: string[] | ((to: string) => Promise<string[]>),
  { from = CARRIER }: { from?: string } = {},
) {
  const to = `+1${++called}`
  const lines = typeof said === 'function' ? await said(to) : said
  await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'echo' } })
  const keys = { caller, said: lines.join('\r\n') || 'X-Nothing: said' }
  const options: SippOptions = { to, host: from, keys, lengthMs: 50 }
  await (await Sipp.caller('identified', product.sip, options)).passed()
  const call = await product.until('the call is over', async () => {
    const { data } = await product.ok('GET', `/calls?to=${encodeURIComponent(to)}`)
    return data[0]?.ended_at == null ? null : data[0]
  })
  const { data } = await product.ok('GET', '/events?limit=100')
  const events = data.filter((event: object) => JSON.stringify(event).includes(call.id))
  const { data: participants } = await product.ok('GET', `/calls/${call.id}/participants`)
  return { call, events, everything: JSON.stringify({ call, events, participants }) }
}

test('an anonymous From of a trusted trunk is the number that it asserts', async () => {
  const { call } = await incoming(NOBODY, [`P-Asserted-Identity: "Ann" <sip:${ANN}@carrier.test>`])
  assert.is(call.from, ANN)
  assert.equal(call.identity, { anonymous: false, name: 'Ann', asserted: ANN, ...NOT_JUDGED })
})

test('what a trunk asserts that is not trusted is shown nowhere', async () => {
  const said = [`P-Asserted-Identity: <sip:${ANN}@carrier.test>`]
  const { call, everything } = await incoming(NOBODY, said, { from: STRANGER })
  assert.equal([call.from, call.identity.asserted], [ANONYMOUS, null])
  assert.not.ok(everything.includes(ANN.slice(1)))
})

test('who asks for Privacy: id is shown nowhere, neither by From nor by what is asserted', async () => {
  const said = ['P-Asserted-Identity: <tel:+12125550199>', 'Privacy: id;critical']
  const { call, everything } = await incoming(`"Bob" <sip:${ANN}@carrier.test>`, said)
  assert.is(call.from, ANONYMOUS)
  assert.equal(call.identity, { anonymous: true, name: null, asserted: null, ...NOT_JUDGED })
  for (const hidden of [ANN.slice(1), '12125550199', 'Bob']) assert.not.ok(everything.includes(hidden), hidden)
})

test('a tel: URI is a number like any other', async () => {
  const { call } = await incoming('<tel:+1-(212)-555.0142;npdi>', [])
  assert.is(call.from, ANN)
})

test('Diversion is shown on the call and in its events', async () => {
  const said = [
    'Diversion: <sip:+12125550102@gw>;reason=user-busy;counter=2',
    'Diversion: <tel:+12125550101>;reason="no-answer"',
  ]
  const { call, events } = await incoming(`<sip:${ANN}@gw>`, said)
  const shown = [
    { address: '+12125550102', reason: 'user-busy', count: 2 },
    { address: '+12125550101', reason: 'no-answer', count: 1 },
  ]
  assert.equal(call.redirected_from, shown)
  const created = events.find(({ type }: { type: string }) => type === 'call.created')
  assert.equal(created.data.object.redirected_from, shown)
})

test('and so is History-Info', async () => {
  const said = ['History-Info: <sip:+12125550101@gw>;index=1,<sip:+12125550102@gw;cause=486>;index=1.1;mp=1']
  const { call } = await incoming(`<sip:${ANN}@gw>`, said)
  assert.equal(call.redirected_from, [{ address: '+12125550101', reason: 'user-busy', count: 1 }])
})

const doors: { close(): void }[] = []

async function at(sipp: Sipp): Promise<object> {
  const door = await withoutOptions(sipp)
  doors.push(door)
  return { host: NAME, hosts: [{ host: HOST, port: door.port }] }
}

/** The INVITE that a call over a connection of its own sends to `sipp`. */
async function outgoing(sipp: Sipp, fields: object, call: object = {}): Promise<string> {
  const to = `+1${++called}000`
  const rates = [{ prefix: to, cost: 1 }]
  await product.ok('POST', '/connections', { name: to, kind: 'trunk', ...(await at(sipp)), rates, ...fields })
  const { id } = await product.ok('POST', '/calls', { to, from: ANN, ...call })
  await product.until('it is answered', async () => {
    const { status, sip_code: code } = await product.ok('GET', `/calls/${id}`)
    if (!['queued', 'ringing', 'in_progress'].includes(status)) throw new Error(`${status} ${code}`)
    return status === 'in_progress' ? true : null
  })
  await product.ok('POST', `/calls/${id}/hangup`)
  return to
}

test('an anonymous call hides who calls in From, and tells the trunk in P-Asserted-Identity', async () => {
  const sipp = await Sipp.callee('answers')
  await outgoing(sipp, { identity: 'asserted', number_format: 'digits' }, { caller_id: 'anonymous' })
  await sipp.passed()
  const { text } = sipp.received('INVITE')[0]!
  assert.match(text, /^From: "Anonymous" <sip:anonymous@anonymous\.invalid>;tag=/m)
  assert.match(text, /^P-Asserted-Identity: <sip:12125550142@127\.0\.0\.9>\r?$/m)
  assert.match(text, /^Privacy: id\r?$/m)
  assert.match(text, /^Contact: <sip:anonymous@/m)
})

test('without such a header an anonymous call names its caller nowhere', async () => {
  const sipp = await Sipp.callee('answers')
  await outgoing(sipp, {}, { caller_id: 'anonymous' })
  await sipp.passed()
  const { text } = sipp.received('INVITE')[0]!
  assert.match(text, /^Privacy: id\r?$/m)
  assert.not.ok(text.includes(ANN.slice(1)), text)
})

test('after a 302 the next INVITE tells whom the call was for', async () => {
  const answers = await Sipp.callee('answers')
  const moved = await Sipp.callee('moved-on', { keys: { target: `${HOST}:${answers.port}` } })
  const fields = { follow_redirects: true, identity: 'remote_party_id' }
  const to = await outgoing(moved, fields)
  await Promise.all([moved.passed(), answers.passed()])
  const { text } = answers.received('INVITE')[0]!
  const diversion = /^Diversion: <sip:(.*)@127\.0\.0\.9>;reason=unconditional;counter=1;privacy=off\r?$/m
  assert.is(diversion.exec(text)?.[1], to, text)
  assert.match(text, /^Remote-Party-ID: <sip:\+12125550142@127\.0\.0\.9>;party=calling;screen=yes;privacy=off\r?$/m)
  assert.not.match(moved.received('INVITE')[0]!.text, /^Diversion:/m)
})

/**
 * Transfers a caller from `from` to a number outside, whose far end hangs up at once, over the API or by a flow. @returns the INVITE there, and both
 * numbers
 */
async function sentOn(
  fields: object,
  said: string | ((to: string) => Promise<string>),
  { from = CARRIER, by = 'api' }: { from?: string; by?: 'api' | 'flow' } = {},
) {
  const sipp = await Sipp.callee('answers-and-hangs-up')
  const [to, onward] = [`+1${++called}`, `+1${++called}000`]
  const trunk = { name: onward, kind: 'trunk', ...(await at(sipp)), rates: [{ prefix: onward, cost: 1 }] }
  await product.ok('POST', '/connections', { ...trunk, ...fields })
  const target = by === 'api' ? { type: 'announcement' } : { type: 'flow', id: await flowTo(onward) }
  await product.ok('POST', '/inbound_routes', { match: { to }, target })
  const keys = { caller: `<sip:${ANN}@gw>`, said: typeof said === 'string' ? said : await said(to) }
  const caller = await Sipp.caller('identified', product.sip, { to, host: from, keys, lengthMs: 5000 })
  const call = await product.until('it is in progress', async () => {
    const { data } = await product.ok('GET', `/calls?to=${encodeURIComponent(to)}`)
    return data[0]?.status === 'in_progress' ? data[0] : null
  })
  if (by === 'api') await product.ok('POST', `/calls/${call.id}/transfer`, { to: onward })
  await sipp.passed()
  // The called party has hung up, which may already have ended the caller's leg.
  await product.ok('POST', `/calls/${call.id}/hangup`).catch(() => {})
  await caller.passed().catch(() => {})
  return { to, onward, text: sipp.received('INVITE')[0]!.text }
}

async function flowTo(number: string): Promise<string> {
  const nodes = [
    { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'on' }] },
    { key: 'on', type: 'transfer', target: { type: 'number', id: number }, transitions: [] },
  ]
  const { id } = await product.ok('POST', '/flows', { name: number, kind: 'ivr', graph: { kind: 'ivr', nodes } })
  await product.ok('POST', `/flows/${id}/publish`, {})
  return id
}

test('a call that is sent on outside carries the number that was called, and those before it', async () => {
  const said = 'Diversion: <sip:+12125550101@gw>;reason=user-busy'
  const { to, onward, text } = await sentOn({ redirect_headers: 'history_info' }, said)
  const history =
    `History-Info: <sip:+12125550101@127.0.0.9>;index=1, ` +
    `<sip:${to}@127.0.0.9;cause=486>;index=1.1;mp=1, ` +
    `<sip:${onward}@127.0.0.9;cause=302>;index=1.1.1;mp=1.1`
  assert.ok(text.includes(history), text)
})

for (const by of ['api', 'flow'] as const) {
  for (const [rule, shown] of [
    ['own', 'our number that was called'],
    ['original', 'the caller'],
  ] as const) {
    test(`transfer_caller ${rule}: whom a call is transferred to (${by}) is shown ${shown}`, async () => {
      const { to, text } = await sentOn({ transfer_caller: rule, identity: 'asserted' }, 'X-Nothing: said', { by })
      const number = rule === 'own' ? to : ANN
      for (const name of ['From', 'P-Asserted-Identity']) {
        assert.equal(
          [/sip:(.*?)@/.exec(fieldsOf(text, name)[0]!)?.[1], text.includes(ANN.slice(1))],
          [number, rule !== 'own'],
        )
      }
    })
  }
}

/** The lines that sign a call to a number. */
const signed = async (to: string, from: string, by = signer): Promise<string[]> => {
  const numbers = { from: from.slice(1), to: to.slice(1) }
  const fields = await by.sign({ ...numbers, attestation: 'B', origId: 'somebody' })
  return fields.map(([name, value]) => `${name}: ${value}`)
}

test('a call that is signed by a provider of a trusted authority is taken, and shows its attestation', async () => {
  const { call } = await incoming(`<sip:${ANN}@gw>`, to => signed(to, ANN), { from: SIGNING })
  const { verification, attestation, verification_failure: failure } = call.identity
  assert.equal([verification, attestation, failure], ['verified', 'B', null])
})

test(
  'so is one that secsipidx has signed',
  async () => {
    const key = { fprvkey: theirKey, x5u: theirCertificate, attest: 'A' }
    const sign = async (to: string) => {
      const numbers = { 'orig-tn': ANN.slice(1), 'dest-tn': to.slice(1) }
      return [`Identity: ${await Secsipidx.sign({ ...key, ...numbers })}`]
    }
    const { call } = await incoming(`<sip:${ANN}@gw>`, sign, { from: SIGNING })
    const { verification, attestation, verification_failure: failure } = call.identity
    assert.equal([verification, attestation, failure], ['verified', 'A', null])
  },
  { missing: withoutSecsipidx },
)

for (const [sentence, status, said] of [
  ['is not signed', '428 Use Identity Header', async () => ['X-Nothing: said']],
  ['is signed for another caller', '438 Invalid Identity Header', (to: string) => signed(to, OURS)],
  ['names a certificate that is not there', '436 Bad Identity Info', (to: string) => signed(to, ANN, lost)],
] as const) {
  test(`where signatures are required a call that ${sentence} is refused with ${status}`, async () => {
    const to = `+1${++called}`
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'echo' } })
    const keys = { caller: `<sip:${ANN}@gw>`, said: (await said(to)).join('\r\n') }
    const sipp = await Sipp.caller('identified', product.sip, { to, host: SIGNING, keys })
    const refusal = (await sipp.failed()).find(message => !message.sent && message.startLine.startsWith('SIP/2.0 4'))
    assert.is(refusal?.startLine, `SIP/2.0 ${status}`)
    assert.match(refusal!.text, 'Reason: Q.850;cause=21;text="Call rejected"')
  })
}

const verifierOfTheirs = (): Verifier => {
  const anchors = certificatesIn(readFileSync(authority.anchorsFile))
  const reach = { addresses: { publicOnly: true, allowed: ['127.0.0.0/8'] } }
  return new Verifier({
    certificates: new Certificates({ anchors, reach, now: () => performance.now() }),
    now: Date.now,
    limitMs: 20_000,
  })
}

/** Values of all header lines of this name. */
const fieldsOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}: (.*?)\\r?$`, 'gm'))].map(([, value = '']) => value)

/** How a far end verifies our INVITE from and to these numbers. */
const verdictOn = (text: string, from: string, to: string) =>
  verifierOfTheirs().verify({
    signatures: fieldsOf(text, 'Identity'),
    date: Date.parse(fieldsOf(text, 'Date')[0] ?? '') / 1000,
    from: [from.slice(1)],
    to: [to.slice(1)],
  })

test('a call goes out signed, with attestation A from a number of ours and B from another', async () => {
  for (const [from, attestation] of [
    [OURS, 'A'],
    [ANN, 'B'],
  ] as const) {
    const sipp = await Sipp.callee('answers')
    const to = await outgoing(sipp, { sign_calls: true }, { from })
    await sipp.passed()
    const { text } = sipp.received('INVITE')[0]!
    const verdict = await verdictOn(text, from, to)
    assert.equal([verdict.result, verdict.attestation], ['verified', attestation], text)
  }
})

test(
  'secsipidx finds our signature valid, by our certificate and its authority, but not with another caller in it',
  async () => {
    const verifier = await Secsipidx.start(authority.anchorsFile)
    doors.push({ close: () => verifier.stop() })
    const sipp = await Sipp.callee('answers')
    await outgoing(sipp, { sign_calls: true }, { from: OURS })
    await sipp.passed()
    const [identity = ''] = fieldsOf(sipp.received('INVITE')[0]!.text, 'Identity')
    assert.ok(await verifier.check(identity), identity)
    const [claims = ''] = /(?<=\.)[^.]+/.exec(identity) ?? []
    const ofAnother = Buffer.from(claims, 'base64url').toString().replace(OURS.slice(1), ANN.slice(1))
    assert.not.ok(await verifier.check(identity.replace(claims, Buffer.from(ofAnother).toString('base64url'))))
  },
  { missing: withoutSecsipidx },
)

for (const [sentence, isSigned, attestation] of [
  ['was signed goes on with that signature, and a div of ours: its attestation stays (RFC 8946)', true, 'B'],
  ['nobody has signed goes on signed by us, with attestation C', false, 'C'],
] as const) {
  test(`a call of somebody else that ${sentence}`, async () => {
    const said = async (to: string) => (isSigned ? (await signed(to, ANN)).join('\r\n') : 'X-Nothing: said')
    const { onward, text } = await sentOn({ sign_calls: true, transfer_caller: 'original' }, said, {
      from: SHOWING,
    })
    const verdict = await verdictOn(text, ANN, onward)
    assert.equal([verdict.result, verdict.attestation], ['verified', attestation], text)
    assert.is(fieldsOf(text, 'Identity').length, isSigned ? 2 : 1)
  })
}

test.run()
