import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CompactSign } from 'jose'
import * as assert from 'uvu/assert'
import { Certificates } from '../../../media/identity/certificates.ts'
import { Signer, signingKey } from '../../../media/identity/signer.ts'
import { type Signed, Verifier } from '../../../media/identity/verifier.ts'
import { canonicalJson, claimsOf, identityValue } from '../../../sip/identity/passport.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { Authority, CertificateServer, type Credential, PROVIDER_709J } from './authority.ts'

const test = suite('media/identity/verifier')
const missing = missingPrograms('openssl')
const [ANN, BOB, CAROL] = ['12125550142', '442071838750', '12125550199']
/** Offset of the tests' clock, for tests of expiry: certificates are valid from now on. */
let laterMs = 0
const now = (): number => Date.now() + laterMs
const nowS = (): number => Math.floor(now() / 1000)

let authority: Authority
let server: CertificateServer
let provider: Credential
let x5u: string
test.before(async () => {
  if (missing !== null) return
  authority = new Authority()
  server = await CertificateServer.listen()
  provider = authority.provider()
  x5u = server.serve('/provider.pem', provider.chain)
})
test.beforeEach(() => {
  laterMs = 0
})
test.after(() => {
  if (missing !== null) return
  server.close()
  authority.close()
})

const stirTest = (sentence: string, run: () => Promise<void>): void => {
  if (missing === null) test(sentence, run)
  else test.skip(sentence, missing)
}

/** A verifier with a long time limit, unless that is what is tested: the machine may be busy. */
const newVerifier = ({ allowed = ['127.0.0.0/8'], limitMs = 20_000 } = {}) => {
  const certificates = new Certificates({
    anchors: [new X509Certificate(readFileSync(authority.anchorsFile))],
    reach: { addresses: { publicOnly: true, allowed } },
    now: () => performance.now(),
  })
  return { verifier: new Verifier({ certificates, now, limitMs }), certificates }
}

interface Wanted {
  by?: Credential
  at?: string
  ppt?: string | null
  from?: string
  to?: string
  iat?: number
  more?: object
  header?: object
}

/** An Identity header as a provider writes it. */
async function signature({ by = provider, at = x5u, ppt = 'shaken', ...call }: Wanted = {}): Promise<string> {
  const { from = ANN, to = BOB, iat = nowS(), more = { attest: 'A', origid: 'here' }, header = {} } = call
  const token = await new CompactSign(Buffer.from(canonicalJson(claimsOf({ from, to, iat }, more))))
    .setProtectedHeader({ alg: 'ES256', ...(ppt === null ? {} : { ppt }), typ: 'passport', x5u: at, ...header })
    .sign(createPrivateKey(by.key))
  return identityValue(token, { x5u: at, ppt })
}

async function judge(signatures: string[], call: Partial<Signed> = {}, { verifier } = newVerifier()) {
  const { result, attestation, cause, number } = await verifier.verify({
    signatures,
    date: null,
    from: [ANN],
    to: [BOB],
    ...call,
  })
  return { result, attestation, cause, number }
}

/** Resolves when `done` holds; the test's own time-out ends it otherwise. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise(resolve => setImmediate(resolve))
}

const failure = async (signatures: string[], call?: Partial<Signed>, by?: ReturnType<typeof newVerifier>) => {
  const verdict = await judge(signatures, call, by)
  assert.is(verdict.number, null, 'a failure vouches for no number')
  return verdict.cause
}

stirTest('a call that a trusted provider has signed for both its ends is verified, with its attestation', async () => {
  for (const attestation of ['A', 'B', 'C'] as const) {
    const verdict = await judge([await signature({ more: { attest: attestation, origid: 'x' } })])
    assert.equal(verdict, { result: 'verified', attestation, cause: null, number: ANN })
  }
})

stirTest(
  'of several signatures of one kind, any valid one is enough, also beside one whose certificate never comes',
  async () => {
    const good = await signature()
    const bad = good.replace(/\.([^.;]+);/, (_, text) => `.${text[0] === 'A' ? 'B' : 'A'}${text.slice(1)};`)
    const elsewhere = await signature({ to: CAROL })
    const hanging = await signature({ at: server.serve('/never.pem', null) })
    const verified = { result: 'verified', attestation: 'A', cause: null, number: ANN }
    for (const signatures of [
      [bad, good],
      [good, bad],
      [elsewhere, good],
    ])
      assert.equal(await judge(signatures), verified)
    const plain = await signature({ ppt: null, more: {} })
    assert.equal(await judge([bad, plain]), { ...verified, attestation: null })
    assert.equal(await judge([hanging, good], {}, newVerifier({ limitMs: 1000 })), verified)
    assert.is(await failure([bad, elsewhere]), 'signature_invalid')
  },
)

stirTest('what we sign is verified, and carries the Date that it is held against', async () => {
  const signer = new Signer({ key: signingKey(provider.key), x5u, now })
  const fields = await signer.sign({ attestation: 'B', from: ANN, to: BOB, origId: 'our-customer' })
  const [[date, at], [identity, value]] = fields as [[string, string], [string, string]]
  assert.equal([date, identity], ['Date', 'Identity'])
  assert.match(value, /;info=<http:[^>]+>;alg=ES256;ppt=shaken$/)
  const [head, claims] = value.split('.').map(part => Buffer.from(part, 'base64url').toString())
  assert.is(head, `{"alg":"ES256","ppt":"shaken","typ":"passport","x5u":"${x5u}"}`)
  const iat = Date.parse(at) / 1000
  assert.is(
    claims,
    `{"attest":"B","dest":{"tn":["${BOB}"]},"iat":${iat},"orig":{"tn":"${ANN}"},"origid":"our-customer"}`,
  )
  assert.is((await judge([value], { date: iat })).result, 'verified')
})

stirTest(
  'a call that we send on keeps what its caller has signed, beside our div: verified as attested first (RFC 8946 §4)',
  async () => {
    const signer = new Signer({ key: signingKey(provider.key), x5u, now })
    const wanted = { attestation: 'C', from: ANN, to: CAROL, origId: 'our-customer', div: BOB } as const
    const identities = async (received: string[]) =>
      (await signer.sign(wanted, received)).flatMap(([name, value]) => (name === 'Identity' ? [value] : []))
    const first = await signature()
    const sent = await identities([first])
    assert.is(sent.length, 2)
    assert.is(sent[0], first)
    const [head, claims] = sent[1]!.split('.', 2).map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
    assert.is(head.ppt, 'div')
    assert.equal(
      [claims.orig, claims.dest, claims.div, claims.attest],
      [{ tn: ANN }, { tn: [CAROL] }, { tn: BOB }, undefined],
    )
    assert.match(sent[1]!, /;ppt=div$/)
    assert.equal(await judge(sent, { to: [CAROL] }), { result: 'verified', attestation: 'A', cause: null, number: ANN })
    // Diverted once more, by the party that got that call.
    const further = await signer.sign({ ...wanted, div: CAROL, to: '12125550111' }, sent)
    const again = further.flatMap(([name, value]) => (name === 'Identity' ? [value] : []))
    assert.is(again.length, 3)
    const { result, attestation } = await judge(again, { to: ['12125550111'] })
    assert.equal([result, attestation], ['verified', 'A'])
    for (const [why, received] of [
      ['nobody has signed it', []],
      ['it is of another caller', [await signature({ from: CAROL })]],
      ['it is for somebody else', [await signature({ to: '12125550122' })]],
      ['it is old', [await signature({ iat: nowS() - 62 })]],
      [
        'it is for the keys of its own description',
        [await signature({ more: { attest: 'A', origid: 'here', mky: [{ alg: 'sha-256', dig: '02'.repeat(32) }] } })],
      ],
      ['it is no PASSporT', ['rubbish']],
    ] as const) {
      const own = await identities([...received])
      assert.is(own.length, 1, why)
      assert.is((await judge(own, { to: [CAROL] })).attestation, 'C', why)
    }
  },
)

stirTest('without a signature that we understand there is none', async () => {
  assert.equal(await judge([]), { result: 'none', attestation: null, cause: 'no_identity', number: null })
  assert.is((await judge([await signature({ ppt: 'rph' })])).result, 'none')
  assert.is(await failure(['rubbish']), 'malformed')
})

stirTest('a signature of another number, for another number or with one bit changed proves nothing', async () => {
  assert.is(await failure([await signature({ from: CAROL })]), 'number_mismatch')
  assert.is(await failure([await signature({ to: CAROL })]), 'number_mismatch')
  const good = await signature()
  const end = good.indexOf(';')
  const turned = `${good.slice(0, end - 3)}${good[end - 3] === 'A' ? 'B' : 'A'}${good.slice(end - 2)}`
  assert.is(await failure([turned]), 'signature_invalid')
  const [head, , tail] = good.slice(0, end).split('.')
  const claims = canonicalJson(claimsOf({ from: ANN, to: BOB, iat: nowS() }, { attest: 'A', origid: 'forged' }))
  const forged = `${head}.${Buffer.from(claims).toString('base64url')}.${tail}${good.slice(end)}`
  assert.is(await failure([forged]), 'signature_invalid')
})

stirTest('iat older or younger than 60 s is stale, and so is a Date', async () => {
  assert.is(await failure([await signature({ iat: nowS() - 62 })]), 'stale')
  assert.is(await failure([await signature({ iat: nowS() + 62 })]), 'stale')
  assert.is(await failure([await signature()], { date: nowS() - 62 }), 'stale')
  const replayed = await signature({ iat: nowS() - 62 })
  assert.is(await failure([replayed], { date: nowS() }), 'stale', 'a Date of now is no proof that it is new')
  assert.is((await judge([await signature({ iat: nowS() - 58 })])).result, 'verified')
})

stirTest('x5u and info must be the same, and alg ES256', async () => {
  assert.is(await failure([await signature({ header: { x5u: `${x5u}?other` } })]), 'malformed')
  assert.is(await failure([(await signature()).replace('alg=ES256', 'alg=none')]), 'malformed')
  assert.is(await failure([await signature({ header: { ppt: 'div' } })]), 'malformed')
})

stirTest(
  'a PASSporT of SHAKEN has both of its claims, an attestation of A to C and an origid (RFC 8588 §4)',
  async () => {
    for (const more of [
      { origid: 'here' },
      { attest: 'A' },
      { attest: 'D', origid: 'here' },
      { attest: 'A', origid: 7 },
    ])
      assert.is(await failure([await signature({ more })]), 'malformed', JSON.stringify(more))
    assert.is((await judge([await signature({ ppt: null, more: {} })])).result, 'verified')
  },
)

stirTest(
  'a certificate of an authority that we do not trust, past its time, or of no provider proves nothing',
  async () => {
    const other = new Authority()
    const stranger = other.provider()
    const at = server.serve('/stranger.pem', stranger.chain)
    const alone = server.serve('/alone.pem', provider.chain.slice(0, provider.chain.indexOf('-----END') + 25))
    assert.is(await failure([await signature({ by: stranger, at })]), 'certificate_untrusted')
    other.close()
    assert.is(
      await failure([await signature({ at: alone })]),
      'certificate_untrusted',
      'nothing leads to the authority',
    )
    const page = server.serve('/page.html', '<html></html>')
    assert.is(await failure([await signature({ at: page })]), 'certificate_untrusted')
    laterMs = 2 * 24 * 3600 * 1000
    assert.is(await failure([await signature()]), 'certificate_untrusted', 'its time is over')
  },
)

stirTest('a certificate that cannot be fetched, or not from where we may ask, proves nothing', async () => {
  const at = server.serve('/gone.pem', '').replace('gone', 'not-there')
  assert.is(await failure([await signature({ at })]), 'certificate_unavailable')
  const large = server.serve('/large.pem', 'x'.repeat(100_000))
  assert.is(await failure([await signature({ at: large })]), 'certificate_unavailable')
  assert.is(await failure([await signature({ at: 'file:///etc/passwd' })]), 'certificate_unavailable')
  const before = server.asked.length
  assert.is(await failure([await signature()], {}, newVerifier({ allowed: [] })), 'certificate_unavailable')
  assert.is(server.asked.length, before, 'a private address is not asked')
})

stirTest(
  'a server that never answers holds a call up no longer than the limit, and is asked once however many calls wait',
  async () => {
    const at = server.serve('/silent.pem', null)
    const verifier = newVerifier({ limitMs: 50 })
    const both = [await signature({ at }), await signature({ at, from: CAROL })]
    const asked = (): number => server.asked.filter(path => path === '/silent.pem').length
    const verdicts = await Promise.all(both.map(one => failure([one], { from: [ANN, CAROL] }, verifier)))
    assert.equal(verdicts, ['certificate_unavailable', 'certificate_unavailable'])
    assert.is(await failure([both[0]!], {}, verifier), 'certificate_unavailable')
    await until(() => asked() > 0)
    assert.is(asked(), 1, 'all waited for one request')
  },
)

stirTest('a certificate is fetched once for many calls', async () => {
  const at = server.serve('/once.pem', provider.chain)
  const verifier = newVerifier()
  const good = await signature({ at })
  await Promise.all([judge([good], {}, verifier), judge([good], {}, verifier)])
  await judge([good], {}, verifier)
  assert.is(server.asked.filter(path => path === '/once.pem').length, 1)
})

stirTest('a TNAuthList of numbers vouches for these alone, one of a provider code for all (RFC 8226 §9)', async () => {
  const hex = (text: string): string => [...Buffer.from(text)].map(byte => byte.toString(16).padStart(2, '0')).join(':')
  // TNEntry: one [2] IA5String; range [1] SEQUENCE of start and count.
  const one = `30:0f:a2:0d:16:0b:${hex(ANN)}`
  const range = `30:14:a1:12:30:10:16:0b:${hex('12125550100')}:02:01:64`
  const judged = async (list: string | null, from: string) => {
    const by = authority.provider(list)
    const at = server.serve(`/list${list?.length}.pem`, by.chain)
    const { result, cause: why } = await judge([await signature({ by, at, from })], { from: [from] })
    return why ?? result
  }
  assert.equal([await judged(one, ANN), await judged(one, CAROL)], ['verified', 'certificate_untrusted'])
  assert.equal([await judged(range, CAROL), await judged(range, '12125550200')], ['verified', 'certificate_untrusted'])
  assert.is(await judged(PROVIDER_709J, CAROL), 'verified')
  for (const unreadable of ['30:00', '04:01:00', '30:02:a2:05']) {
    assert.is(await judged(unreadable, ANN), 'certificate_untrusted', unreadable)
  }
  assert.is(await judged(null, ANN), 'certificate_untrusted', 'a certificate without any list')
})

stirTest('the compact form is made anew from the numbers and the Date of the request', async () => {
  const full = await signature({ ppt: null, more: {} })
  const compact = `..${full.slice(full.lastIndexOf('.', full.indexOf(';')) + 1)}`
  const verdict = await judge([compact], { date: nowS(), from: [CAROL, ANN] })
  assert.equal([verdict.result, verdict.number, verdict.attestation], ['verified', ANN, null])
  assert.is(await failure([compact], { date: nowS(), from: [CAROL] }), 'signature_invalid')
  assert.is(await failure([compact]), 'stale', 'no Date, no iat')
})

stirTest('a call that was sent on is verified by a chain of div PASSporTs (RFC 8946)', async () => {
  const first = await signature({ to: CAROL })
  const sentOn = await signature({ ppt: 'div', to: BOB, more: { div: { tn: CAROL } } })
  assert.is((await judge([first, sentOn])).result, 'verified')
  assert.is((await judge([first, sentOn])).attestation, 'A')
  assert.is(await failure([first, sentOn], { to: ['12125550111'] }), 'number_mismatch', 'it was sent on to another one')
  const further = await signature({ ppt: 'div', to: '12125550111', more: { div: { tn: BOB } } })
  for (const chain of [
    [first, sentOn, further],
    [further, first, sentOn],
    [further, sentOn, first],
  ])
    assert.is((await judge(chain, { to: ['12125550111'] })).result, 'verified', 'twice, in whatever order')
  const back = await signature({ ppt: 'div', to: CAROL, more: { div: { tn: BOB } } })
  const inACircle = [await signature({ to: '12125550111' }), sentOn, back]
  assert.is(await failure(inACircle), 'number_mismatch', 'a circle ends')
  const elsewhere = await signature({ ppt: 'div', to: BOB, more: { div: { tn: '12125550111' } } })
  assert.is(await failure([first, elsewhere]), 'number_mismatch')
  const ofAnother = await signature({ ppt: 'div', from: CAROL, to: BOB, more: { div: { tn: CAROL } } })
  assert.is(await failure([first, ofAnother]), 'number_mismatch')
})

stirTest('a key of another curve signs nothing', async () => {
  assert.throws(() =>
    signingKey(
      Buffer.from(createPublicKey(createPrivateKey(provider.key)).export({ type: 'spki', format: 'pem' }) as string),
    ),
  )
})

test.run()
