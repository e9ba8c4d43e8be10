// Judges timing: in pieces of 50 ms each tone has to be clean, which what baresip plays too late is not.
import * as assert from 'uvu/assert'
import { levelAt, loudness } from '../../bench/spectrum.ts'
import { callFrom, endedCall, HEARD_DBOV, newRoom, type TestRoom, UNHEARD_DBOV } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Baresip, type BaresipCodec } from './peers/baresip.ts'

const test = sharedSuite('interop/codecs')
const missing = missingPrograms('baresip')

/** The parties in the room: codec as REST shows it, and tone. */
const PARTIES: { codec: BaresipCodec; user: string; shown: string; toneHz: number }[] = [
  { codec: 'G722/16000/1', user: 'g722', shown: 'G722', toneHz: 5000 },
  { codec: 'opus/48000/2', user: 'opus', shown: 'opus', toneHz: 900 },
  { codec: 'L16/16000/1', user: 'l16-16', shown: 'L16/16000', toneHz: 6000 },
  { codec: 'L16/8000/1', user: 'l16-8', shown: 'L16/8000', toneHz: 2100 },
]

test.before(async () => {
  if (missing !== null) return
  for (const { id } of await product.all('/connections')) {
    const codecs = ['PCMU', 'G722', 'opus', 'L16/16000', 'L16/8000']
    assert.equal((await product.ok('PATCH', `/connections/${id}`, { codecs })).codecs, codecs)
  }
})

/** Dials; resolves after three seconds of its audio. */
async function talk(baresip: Baresip, room: TestRoom, { user, shown }: (typeof PARTIES)[number]): Promise<string> {
  baresip.dial(`sip:${room.number}@${product.sip.host}:${product.sip.port}`)
  await baresip.until('CALL_ESTABLISHED')
  const call = await callFrom(product, user)
  const quality = await product.until(`three seconds of ${shown}`, async () => {
    const [leg] = (await product.ok('GET', `/calls/${call.id}`)).quality
    return leg?.packets_received > 150 ? leg : null
  })
  assert.is(quality.codec, shown)
  return call.id
}

/** For each 50 ms in which a party hears all others: how far their tones are above everything else, the best first [dB]. */
function purities({ samples, rateHz }: { samples: Int16Array; rateHz: number }, tonesHz: readonly number[]): number[] {
  const length = rateHz / 20
  const found: number[] = []
  for (let at = 0; at + length <= samples.length; at += length) {
    const part = samples.subarray(at, at + length)
    const levels = tonesHz.map(hz => levelAt(hz, part, 0, length, rateHz))
    if (levels.some(level => level < HEARD_DBOV)) continue
    const tones = levels.reduce((sum, level) => sum + 10 ** (level / 10), 0)
    found.push(10 * Math.log10(tones / Math.max(10 ** (loudness(part) / 10) - tones, 1e-12)))
  }
  return found.sort((a, b) => b - a)
}

/** Minimum by which the others' tones are above everything else: Opus adds some noise to its tone [dB]. */
const CLEAN_DB = 8
/** Number of clean pieces that are waited for: on a busy machine a phase jumps now and then. */
const ENOUGH = 8

/** The tones of the others that a party can hear: its codec has half of its rate. */
const othersOf = (i: number, rateHz: number): number[] =>
  PARTIES.filter((party, n) => n !== i && party.toneHz < rateHz / 2).map(party => party.toneHz)

async function meeting(): Promise<void> {
  const room = await newRoom(product)
  const there = await Promise.all(PARTIES.map(({ toneHz, codec, user }) => Baresip.start({ toneHz, codec, user })))
  try {
    const calls = await Promise.all(there.map((baresip, i) => talk(baresip, room, PARTIES[i]!)))
    const isClean = (baresip: Baresip, i: number): boolean => {
      const dump = baresip.dumpSoFar()
      return (purities(dump, othersOf(i, dump.rateHz))[ENOUGH] ?? 0) > CLEAN_DB
    }
    // If it does not come to that, it is told below who hears whom how well.
    await product.until('all hear each other clean', async () => there.every(isClean) || null).catch(() => {})
    for (const baresip of there) baresip.hangup()
    await Promise.all(calls.map(id => endedCall(product, id)))
    await Promise.all(there.map(baresip => baresip.until('CALL_CLOSED')))
    for (const [i, { codec, toneHz }] of PARTIES.entries()) {
      const dump = await there[i]!.dump()
      const measured = purities(dump, othersOf(i, dump.rateHz))
      assert.ok(measured.length > ENOUGH, `${codec} hears all others in ${measured.length} pieces`)
      assert.ok(measured[ENOUGH]! > CLEAN_DB, `${codec}: ${measured[ENOUGH]} dB`)
      const own = levelAt(toneHz, dump.samples, 0, dump.samples.length, dump.rateHz)
      assert.ok(own < UNHEARD_DBOV, `${codec} hears itself: ${own} dBov`)
    }
  } finally {
    await Promise.all(there.map(baresip => baresip.stop()))
  }
}

const SENTENCE =
  'Four of baresip with G.722, Opus and linear audio of 8 and 16 kHz in one room hear each other clean and not themselves, up to 6 kHz where their codecs are of 16, and are shown with their codecs'
test(SENTENCE, meeting, { timeoutMs: 60_000, missing })

test.run()
