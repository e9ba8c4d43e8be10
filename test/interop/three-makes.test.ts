// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { memberNamed } from '../../bench/members.ts'
import { Phone } from '../../bench/phone/phone.ts'
import type { Product } from '../../bench/product.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { StreamReceiver } from '../../bench/stream-receiver.ts'
import { tone } from '../../bench/voices.ts'
import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { readWav } from '../../codecs/wav.ts'
import { curtain, endedCall, HEARD_DBOV, newRoom, UNHEARD_DBOV } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'
import { Sipp } from './peers/sipp.ts'
import { toneDirectory } from './peers/tone-directory.ts'

const test = suite('interop/three-makes')
const SENTENCE =
  'Three SIP parties of different make (our demo agent, SIPp with RTP, baresip) in one room hear each other and not themselves, over a whole second each, checked on the recorded audio by frequency'
const missing = missingPrograms('sipp', 'baresip')
/** Everyone's own, none a harmonic of another [Hz]. */
const TONES = { phone: 440, sipp: 1000, baresip: 1700 }
type Name = keyof typeof TONES
const NAMES = Object.keys(TONES) as Name[]
/** In the middle of the time that all three are there, away from who comes and goes [ms]. */
const [TOGETHER_MS, MARGIN_MS] = [3000, 1000]

let product: Product | undefined
let receiver: StreamReceiver | undefined
test.after(async () => {
  await receiver?.close()
  await curtain(product)
})

/** One second of `samples` holds exactly these tones. */
function assertHolds(who: string, samples: Int16Array, expected: readonly Name[]): void {
  assert.is(samples.length, NARROWBAND_HZ, `${who}: not a whole second`)
  for (const name of NAMES) {
    const level = levelAt(TONES[name], samples)
    if (expected.includes(name)) assert.ok(level > HEARD_DBOV, `${who} misses ${name}: ${level} dBov`)
    else assert.ok(level < UNHEARD_DBOV, `${who} has ${name}: ${level} dBov`)
  }
}

const second = (samples: Int16Array, from: number): Int16Array => samples.slice(from, from + NARROWBAND_HZ)

async function meeting(): Promise<void> {
  const tones = toneDirectory(TONES.sipp)
  product = await sharedProduct()
  receiver = await StreamReceiver.listen()
  const room = await newRoom(product, {}, { record: true })
  const baresip = await Baresip.start({ toneHz: TONES.baresip })
  try {
    const phone = await Phone.open('phone')
    const call = await phone.call(room.number, product.sip, { voice: tone(TONES.phone) })
    const sipp = await Sipp.caller('rtp-tone', product.sip, { to: room.number, directory: tones.path })
    baresip.dial(`sip:${room.number}@${product.sip.host}:${product.sip.port}`)
    await baresip.until('CALL_ESTABLISHED')
    const members = Object.fromEntries(
      await Promise.all(NAMES.map(async name => [name, await memberNamed(product!, room.roomId, name)])),
    )
    const stream = { url: receiver.url, tracks: 'outbound', format: 'mulaw_8000' }
    await product.ok('POST', `/calls/${members.sipp.call_id}/streams`, stream)
    await call.heard.next(TOGETHER_MS)
    const phoneHeard = second(call.heard.samples(), call.heard.length - 2 * NARROWBAND_HZ)
    const callId = members.phone.session_call_id
    await product.ok('POST', `/calls/${callId}/hangup`)
    await Promise.all([sipp.passed(), baresip.until('CALL_CLOSED'), endedCall(product, callId)])

    assertHolds('the phone', phoneHeard, ['sipp', 'baresip'])
    const baresipHeard = await baresip.heard()
    assertHolds('baresip', second(baresipHeard, baresipHeard.length - 2 * NARROWBAND_HZ), ['phone', 'sipp'])
    assertHolds('SIPp', streamed(receiver), ['phone', 'baresip'])
    await assertRecording(callId, members)
  } finally {
    await baresip.stop()
    tones.remove()
  }
}

/** What SIPp was sent, told by the stream of its call. */
function streamed({ streams }: StreamReceiver): Int16Array {
  const payload = Buffer.concat(streams.flatMap(({ tracks }) => tracks.outbound.map(frame => frame.payload)))
  const samples = new Int16Array(payload.length)
  PCMU.decode(payload, samples)
  return second(samples, samples.length - 2 * NARROWBAND_HZ)
}

/** Each channel of the conference recording is one party's own voice. */
async function assertRecording(callId: string, members: Record<string, { id: string }>): Promise<void> {
  const ready = await product!.until('the recording is ready', async () => {
    const recording = await product!.ok('GET', `/calls/${callId}/recording`)
    return recording.status === 'ready' ? recording : null
  })
  const answer = await fetch(`${product!.baseUrl}/v1/calls/${callId}/recording/content`, {
    headers: { authorization: `Bearer ${product!.liveKey}` },
  })
  const wav = readWav(new Uint8Array(await answer.arrayBuffer()))
  assert.not('error' in wav)
  if ('error' in wav) return
  const end = wav.samples[0]!.length - (MARGIN_MS / 1000) * NARROWBAND_HZ
  const kinds = ready.channels.map(({ kind }: { kind: string }) => kind)
  assert.equal(kinds, [...NAMES.map(() => 'participant'), 'product'], 'theirs, and the chimes')
  for (const name of NAMES) {
    const channel = ready.channels.findIndex(
      ({ participant_id }: { participant_id: string }) => participant_id === members[name]!.id,
    )
    assertHolds(`the channel of ${name}`, second(wav.samples[channel]!, end - NARROWBAND_HZ), [name])
  }
}

test(SENTENCE, meeting, { timeoutMs: 60_000, missing })

test.run()
