// Wants the machine: all of its peers call at once, and over TCP SIPp takes a 200 that is repeated, for its ACK is half a second late, for a fault.
import { mkdtempSync, rmSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { Product } from '../../bench/product.ts'
import { bracketed } from '../../sip/message/uri.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { missingPrograms, suite } from '../harness.ts'
import { type CertificateFiles, doorFrom, doorTo, makeCertificate } from './peers/doors.ts'
import { Sipp, type SippOptions } from './peers/sipp.ts'

/**
 * The wire behaviour that carriers require, over each transport and both address families; every scenario has the same result. Loss over UDP
 * is tested in `lossy.test.ts`. Over TCP and TLS nothing is lost between two hops, but a proxy between them may lose it: what is said again from
 * end to end is tested here (a 200, RFC 3261 §13.3.1.4, a reliable 183, RFC 3262 §3).
 */

const test = suite('interop/transports')
const missing = missingPrograms('sipp', 'openssl')
const [FOUR, SIX] = ['127.0.0.1', '::1']
const hasSix = Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === SIX))
const SLOW = { timeoutMs: 150_000, together: true }
const dir = mkdtempSync(join(tmpdir(), 'tandem-transports-'))

interface Way {
  transport: 'udp' | 'tcp' | 'tls'
  host: string
}

let product: Product
let files: CertificateFiles
let tlsPort: number
test.before(async () => {
  if (missing !== null) return
  files = makeCertificate(dir, [FOUR, SIX])
  tlsPort = await freePort()
  product = await Product.start({
    env: {
      TANDEM_SIP_HOST: hasSix ? `${FOUR},${SIX}` : FOUR,
      TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128',
      TANDEM_SIP_TLS_PORT: String(tlsPort),
      TANDEM_SIP_TLS_CERT: files.cert,
      TANDEM_SIP_TLS_KEY: files.key,
      NODE_EXTRA_CA_CERTS: files.cert,
    },
  })
  // The demo knows who calls from this machine by IPv4.
  await product.ok('POST', '/connections', { name: 'Six', kind: 'peer', allowed_ips: ['::1/128'] })
  const queue = await product.ok('POST', '/queues', { name: 'Nobody', overflow: { when_no_agents: false } })
  for (const [to, answer] of [
    ['5001', 'when_answered'],
    ['5002', 'early_media'],
  ]) {
    await product.ok('POST', '/inbound_routes', { match: { to }, target: { type: 'queue', id: queue.id }, answer })
  }
  await product.ok('POST', '/inbound_routes', { match: { to: '49301234' }, target: { type: 'echo' } })
})
test.after(async () => {
  rmSync(dir, { recursive: true, force: true })
  if (missing === null) await curtain(product)
})

/**
 * SIPp as the caller: the scenario, and the number that it dials. We also retransmit over TCP until the acknowledgement: a 200 (RFC 3261
 * §13.3.1.4) and a reliable 183 (RFC 3262 §3). SIPp takes that for a fault, so those scenarios run over UDP.
 */
const CALLERS: readonly (readonly [string, string])[] = [
  ['call', '1002'],
  ['late-offer', '1002'],
  ['hold', '1002'],
  ['options', '1002'],
  ['unknown-dialog', '1002'],
  ['unsupported-codec', '1002'],
  ['not-found', '4040404'],
  ['overlap', '49301234'],
  ['ring-cancel', '5001'],
]

/** Those that have it said again. */
const REPEATED: typeof CALLERS = [
  ['late-ack', '1002'],
  ['ring-prack', '5002'],
]
const callersOver = (transport: Way['transport']): typeof CALLERS =>
  transport === 'udp' ? [...CALLERS, ...REPEATED] : CALLERS

async function calls(scenario: string, to: string, { transport, host }: Way): Promise<void> {
  const options: SippOptions = { to, host, transport: transport === 'udp' ? 'udp' : 'tcp' }
  const door = transport === 'tls' ? await doorTo({ host, port: tlsPort }, 'tls') : null
  try {
    const sipp = await Sipp.caller(scenario, { host, port: door?.port ?? product.sip.port }, options)
    await sipp.passed()
  } finally {
    door?.close()
  }
}

/** What SIPp plays when it is called, what the call is then, and who ends one that is answered. */
const CALLEES = [
  ['answers', 'completed', 'we'],
  ['answers-and-hangs-up', 'completed', 'they'],
  ['early-media', 'completed', 'we'],
  ['busy', 'busy', null],
  ['declines', 'failed', null],
  ['incomplete', 'failed', null],
  ['moved', 'failed', null],
  ['no-answer', 'no_answer', null],
] as const

async function isCalled([scenario, status, ends]: (typeof CALLEES)[number], { transport, host }: Way): Promise<void> {
  const sipp = await Sipp.callee(scenario, { host, transport: transport === 'udp' ? 'udp' : 'tcp' })
  const door = transport === 'tls' ? await doorFrom(sipp, files, 'tls') : null
  try {
    const to = `sip:callee@${bracketed(host)}:${door?.port ?? sipp.port}${transport === 'udp' ? '' : `;transport=${transport}`}`
    const { id } = await product.ok('POST', '/calls', { to, timeout_s: 5 })
    if (ends === 'we') {
      await product.until(`${scenario} is answered`, async () =>
        (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
      )
      await product.ok('POST', `/calls/${id}/hangup`)
    }
    await sipp.passed()
    assert.is((await endedCall(product, id)).status, status, scenario)
    const ours = sipp.messages.filter(({ sent, text }) => !sent && /^[A-Z]+ sip:/.test(text))
    assert.ok(ours.length >= 2, scenario)
    for (const { text } of ours) assert.match(text, new RegExp(`^Via: SIP/2\\.0/${transport.toUpperCase()} `, 'm'))
  } finally {
    door?.close()
  }
}

/** Loses each of these once: the beginning of a message's first line and its CSeq. */
class Loss {
  readonly lost = new Set<string>()
  readonly #names: readonly string[]

  constructor(...names: string[]) {
    this.#names = names
  }

  get isOver(): boolean {
    return this.lost.size === this.#names.length
  }

  readonly passes = (message: Buffer): Buffer | null => {
    const text = message.toString('latin1')
    const [, status, method] = /^(?:SIP\/2\.0 (\d+)|([A-Z]+) )/.exec(text) ?? []
    const name = `${status ?? method} of ${/^CSeq: (.*)\r$/m.exec(text)?.[1]}`
    if (!this.#names.includes(name) || this.lost.has(name)) return message
    this.lost.add(name)
    return null
  }
}

type StreamWay = Way & { transport: 'tcp' | 'tls' }

async function losesCalls({ transport, host }: StreamWay): Promise<void> {
  const port = transport === 'tls' ? tlsPort : product.sip.port
  for (const [scenario, to, ...names] of [
    ['acks-twice', '1002', '200 of 1 INVITE', 'ACK of 1 ACK'],
    ['ring-prack', '5002', '183 of 1 INVITE'],
  ] as const) {
    const loss = new Loss(...names)
    const door = await doorTo({ host, port }, transport, loss.passes)
    const sipp = await Sipp.caller(scenario, { host, port: door.port }, { to, host, transport: 'tcp' })
    try {
      await sipp.passed()
    } finally {
      door.close()
    }
    assert.ok(loss.isOver, scenario)
  }
}

async function losesAck({ transport, host }: StreamWay): Promise<void> {
  const sipp = await Sipp.callee('answers-twice', { host, transport: 'tcp' })
  const loss = new Loss('ACK of 1 ACK')
  const door = await doorFrom(sipp, files, transport, loss.passes)
  try {
    const to = `sip:callee@${bracketed(host)}:${door.port};transport=${transport}`
    const { id } = await product.ok('POST', '/calls', { to })
    await product.until('its 200 is acknowledged again', async () => (sipp.received('ACK').length > 0 ? true : null))
    await product.ok('POST', `/calls/${id}/hangup`)
    await sipp.passed()
    assert.is((await endedCall(product, id)).status, 'completed')
  } finally {
    door.close()
  }
  assert.ok(loss.isOver)
}

for (const [family, host] of [
  ['IPv4', FOUR],
  ['IPv6', SIX],
] as const) {
  for (const transport of ['udp', 'tcp', 'tls'] as const) {
    const lacking = missing ?? (host === SIX && !hasSix ? 'this machine has no IPv6' : null)
    const way: Way = { transport, host }
    for (const [sentence, run] of [
      [
        `${callersOver(transport)
          .map(([name]) => name)
          .join(', ')}: SIPp calls over ${transport}, ${family}`,
        async () => {
          for (const [scenario, to] of callersOver(transport)) await calls(scenario, to, way)
        },
      ],
      [
        `${CALLEES.map(([name]) => name).join(', ')}: SIPp is called over ${transport}, ${family}`,
        async () => {
          for (const played of CALLEES) await isCalled(played, way)
        },
      ],
      ...(transport === 'udp'
        ? []
        : ([
            [
              `a 200, its ACK and a reliable 183 of a caller are each lost once, over ${transport}, ${family}`,
              () => losesCalls({ transport, host }),
            ],
            [
              `our ACK is lost once, and sent again with the 200, over ${transport}, ${family}`,
              () => losesAck({ transport, host }),
            ],
          ] as const)),
    ] as const) {
      if (lacking === null) test(sentence, run, SLOW)
      else test.skip(sentence, lacking)
    }
  }
}

test.run()
