import * as assert from 'uvu/assert'
import { levelAt } from '../../bench/spectrum.ts'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { callFrom, endedCall, HEARD_DBOV, newRoom } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Baresip, type BaresipOptions } from './peers/baresip.ts'

const missing = missingPrograms('baresip')
const test = sharedSuite('interop/srtp', { timeoutMs: 60_000, missing })
const [CALLER_HZ, CALLED_HZ] = [700, 1100]
const NUMBER = '+15551234567'

/** The connection that phones of this machine call over. */
let inbound: string
test.before(async () => {
  inbound = (await product.all('/connections'))[0]!.id
})

async function withPhones(phones: BaresipOptions[], run: (...started: Baresip[]) => Promise<void>): Promise<void> {
  const started: Baresip[] = []
  try {
    for (const options of phones) started.push(await Baresip.start(options))
    await run(...started)
  } finally {
    for (const phone of started) await phone.stop()
  }
}

/** Until the media engine has opened so many more packets of the call. */
async function talked(callId: string, packets: number): Promise<void> {
  const received = async (): Promise<number> =>
    (await product.ok('GET', `/calls/${callId}`)).quality[0]?.packets_received ?? 0
  const before = await received()
  await product.until(`${packets} packets`, async () => ((await received()) > before + packets ? true : null))
}

/** That a whole second of what it heard is this tone; `lastS`: of the last seconds. */
async function assertHears(phone: Baresip, hz: number, label: string, lastS = Number.POSITIVE_INFINITY): Promise<void> {
  const all = await phone.heard()
  const heard = all.subarray(Math.max(0, all.length - lastS * NARROWBAND_HZ))
  let loudest = -100
  for (let end = NARROWBAND_HZ; end <= heard.length; end += NARROWBAND_HZ / 4) {
    loudest = Math.max(loudest, levelAt(hz, heard, end - NARROWBAND_HZ, end))
  }
  assert.ok(loudest > HEARD_DBOV, `${label}: ${loudest} dBov of ${hz} Hz`)
}

const uriOf = (user: string): string => `sip:${user}@${product.sip.host}:${product.sip.port}`

async function withTrunk(to: Baresip, srtp: string, run: () => Promise<void>): Promise<void> {
  const [host, port] = to.uri.split('@')[1]!.split(':')
  const fields = { name: 'Carrier', kind: 'trunk', host, port: Number(port), srtp }
  const { id } = await product.ok('POST', '/connections', fields)
  try {
    await run()
  } finally {
    await product.ok('DELETE', `/connections/${id}`)
  }
}

/** That a caller meets in a room whom we call, both over connections with this `srtp`. */
async function inOneRoom(caller: Baresip, called: Baresip, srtp: string): Promise<void> {
  const room = await newRoom(product)
  await withTrunk(called, srtp, async () => {
    await product.ok('PATCH', `/connections/${inbound}`, { srtp })
    caller.dial(uriOf(room.number))
    await caller.until('CALL_ESTABLISHED')
    const call = await callFrom(product, 'baresip')
    const other = await product.ok('POST', '/calls', { to: NUMBER, room_id: room.roomId })
    await called.until('CALL_ESTABLISHED')
    await talked(other.id, 125)
    await product.ok('POST', `/calls/${other.id}/hangup`)
    await called.until('CALL_CLOSED')
    caller.hangup()
    await caller.until('CALL_CLOSED')
    await endedCall(product, call.id)
    await assertHears(called, CALLER_HZ, 'called')
    await assertHears(caller, CALLED_HZ, 'caller')
  })
}

test('with `srtp` required baresip as caller and as called hear each other', () =>
  withPhones(
    [
      { toneHz: CALLER_HZ, srtp: 'required' },
      { user: NUMBER, toneHz: CALLED_HZ, srtp: 'required', answers: true },
    ],
    (caller, called) => inOneRoom(caller, called, 'required'),
  ))

for (const [srtp, policy] of [
  ['dtls', 'dtls'],
  ['dtls with rtcp-mux', 'dtls'],
  // It takes RTP/SAVP, whatever keys that is offered with, and wants them by DTLS.
  ['dtls', 'optional'],
  ['dtls', 'required'],
] as const) {
  test(`with \`srtp\` ${policy} baresip as caller and as called hear each other: ${srtp}`, () =>
    withPhones(
      [
        { toneHz: CALLER_HZ, srtp },
        { user: NUMBER, toneHz: CALLED_HZ, srtp, answers: true },
      ],
      (caller, called) => inOneRoom(caller, called, policy),
    ))
}

test('`srtp` off refuses a phone that insists on it, and required one that does without', () =>
  withPhones([{ toneHz: CALLER_HZ, srtp: 'required' }, { toneHz: CALLER_HZ }], async (insists, plain) => {
    for (const [srtp, phone] of [
      ['off', insists],
      ['required', plain],
    ] as const) {
      await product.ok('PATCH', `/connections/${inbound}`, { srtp })
      phone.dial(uriOf('1002'))
      assert.match((await phone.until('CALL_CLOSED')).param ?? '', /488/, srtp)
    }
  }))

test('`srtp` optional encrypts where the far end can, in both directions and over a hold, and does without where it cannot', () =>
  withPhones(
    [
      { toneHz: CALLER_HZ, srtp: 'required' },
      { user: NUMBER, toneHz: CALLED_HZ, srtp: 'optional', answers: true },
      { user: NUMBER, toneHz: CALLED_HZ, srtp: 'required', answers: true },
      { user: NUMBER, toneHz: CALLED_HZ, answers: true },
    ],
    async (caller, ...others) => {
      await product.ok('PATCH', `/connections/${inbound}`, { srtp: 'optional' })
      caller.dial(uriOf('1002'))
      await caller.until('CALL_ESTABLISHED')
      for (const called of others) {
        await withTrunk(called, 'optional', async () => {
          const { id } = await product.ok('POST', '/calls', { to: NUMBER })
          await called.until('CALL_ESTABLISHED')
          await talked(id, 50)
          await product.ok('POST', `/calls/${id}/hangup`)
          await called.until('CALL_CLOSED')
          assert.ok(
            (await called.heard()).some(sample => Math.abs(sample) > 500),
            'it heard nothing',
          )
        })
      }
      caller.hangup()
      await caller.until('CALL_CLOSED')
      await assertHears(caller, CALLER_HZ, 'echo, after the hold', 3)
    },
  ))

test.run()
