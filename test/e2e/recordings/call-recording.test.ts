// Judges timing: what is heard counts, second by second.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { readWav, wavHeader } from '../../../codecs/wav.ts'
import { plainSize } from '../../../media/protocol.ts'
import { endedCall, HEARD_DBOV, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/recordings/call-recording')
const LIMIT = { timeoutMs: 60_000 }
const CALLER_HZ = 440
const AGENT_HZ = 700
const OTHER_HZ = 1000
const PLAYED_HZ = 1900
const SECOND = 8000

/** A loud tone as an audio asset. */
async function toneAsset(hz: number): Promise<string> {
  const samples = Int16Array.from({ length: SECOND }, (_, i) => 12_000 * Math.sin((2 * Math.PI * hz * i) / SECOND))
  const header = wavHeader({ sampleRateHz: SECOND, channels: 1, dataBytes: samples.byteLength })
  const content_base64 = Buffer.concat([header, Buffer.from(samples.buffer)]).toString('base64')
  const asset = { file: { filename: 'tone.wav', content_base64 }, kind: 'prompt' }
  return (await product.ok('POST', '/audio_assets', asset)).id
}

async function recordingOf(
  id: string,
): Promise<{ channels: Int16Array[]; info: { channels: { kind: string }[]; segments: object[] } }> {
  const info = await product.until('the recording is ready', async () => {
    const found = await product.ok('GET', `/calls/${id}/recording`)
    return found.status === 'recording' ? null : found
  })
  assert.is(info.status, 'ready')
  const wav = readWav(await product.download(`/calls/${id}/recording/content`))
  if ('error' in wav) throw new Error(wav.error)
  return { channels: wav.samples, info }
}

/** In how many whole seconds of a channel these tones are heard, and no others of those that are spoken here. */
function secondsOf(channel: Int16Array, ...wanted: number[]): number {
  let count = 0
  for (let from = 0; from + SECOND <= channel.length; from += SECOND) {
    const heard = [CALLER_HZ, AGENT_HZ, OTHER_HZ, PLAYED_HZ].filter(
      hz => levelAt(hz, channel, from, from + SECOND) > UNHEARD_DBOV,
    )
    if (heard.length === wanted.length && heard.every(hz => wanted.includes(hz))) count++
  }
  return count
}

async function hears(call: PhoneCall, hz: number): Promise<void> {
  for (let tries = 0; tries < 40; tries++) if (levelAt(hz, await call.heard.next(250)) > HEARD_DBOV) return
  throw new Error(`${hz} Hz is not heard`)
}

test(
  'a bridged call that is transferred has every party and what the product played, each in its channel',
  async () => {
    const [first, agent, other] = [
      await Phone.open('rec-caller'),
      await Phone.open('rec-agent'),
      await Phone.open('rec-b'),
    ]
    const ringing = first.next()
    const { id } = await product.ok('POST', '/calls', { to: first.uri, record: true })
    const caller = await ringing
    caller.answer()
    caller.say(tone(CALLER_HZ))
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    await product.ok('POST', `/calls/${id}/play`, { audio_asset_id: await toneAsset(PLAYED_HZ), loop: true })
    await hears(caller, PLAYED_HZ)
    await caller.heard.next(2500)
    for (const [phone, hz] of [
      [agent, AGENT_HZ],
      [other, OTHER_HZ],
    ] as const) {
      const rings = phone.next()
      await product.ok('POST', `/calls/${id}/transfer`, { type: 'blind', to: phone.uri })
      const answered = await rings
      answered.answer()
      answered.say(tone(hz))
      await hears(caller, hz)
      await hears(answered, CALLER_HZ)
      await caller.heard.next(2500)
    }
    await caller.hangup()
    await endedCall(product, id)
    const { channels, info } = await recordingOf(id)
    assert.equal(
      info.channels.map(({ kind }: { kind: string }) => kind),
      ['participant', 'participant', 'participant', 'product'],
    )
    assert.is(channels.length, 4)
    const seconds = Math.floor(channels[0]!.length / SECOND)
    assert.ok(secondsOf(channels[0]!, CALLER_HZ) >= seconds - 1, 'the caller is there all the time')
    assert.ok(secondsOf(channels[1]!, AGENT_HZ) >= 2)
    assert.ok(secondsOf(channels[2]!, OTHER_HZ) >= 2)
    assert.ok(secondsOf(channels[3]!, PLAYED_HZ) >= 2)
    for (const [i, hz] of [CALLER_HZ, AGENT_HZ, OTHER_HZ].entries()) {
      const alone = secondsOf(channels[i]!, hz) + secondsOf(channels[i]!)
      assert.ok(alone >= seconds - 2, `channel ${i} holds nobody else: ${alone} of ${seconds} s`)
    }
    await Promise.all([first.close(), agent.close(), other.close()])
  },
  LIMIT,
)

test(
  'a running call is recorded, paused, resumed and stopped by REST; encrypted on the disk it is downloaded in parts and mixed as any; DELETE takes its files',
  async () => {
    await product.ok('PATCH', '/organisation', { encrypt_recordings: true })
    const phone = await Phone.open('rec-control')
    const ringing = phone.next()
    const { id } = await product.ok('POST', '/calls', { to: phone.uri })
    const caller = await ringing
    caller.answer()
    caller.say(tone(CALLER_HZ))
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    const path = `/calls/${id}/recording`
    assert.is((await product.ok('POST', `${path}/start`, {})).status, 'recording')
    await caller.heard.next(1500)
    assert.is((await product.ok('POST', `${path}/pause`, {})).status, 'paused')
    await caller.heard.next(1500)
    assert.is((await product.ok('POST', `${path}/resume`, {})).status, 'recording')
    await caller.heard.next(1500)
    await product.ok('POST', `${path}/stop`, {})
    const { channels, info } = await recordingOf(id)
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'in_progress', 'the call goes on')
    const [pause] = info.segments as { from_ms: number; to_ms: number; reason: string }[]
    assert.is(pause!.reason, 'paused')
    for (const channel of channels) {
      assert.ok(channel.subarray(pause!.from_ms * 8, pause!.to_ms * 8).every(sample => sample === 0))
    }
    const level = (from: number) => levelAt(CALLER_HZ, channels[0]!, from, from + SECOND)
    assert.ok(level(2400) > HEARD_DBOV && level(pause!.to_ms * 8 + 2400) > HEARD_DBOV)

    const file = await product.download(`${path}/content`)
    const onDisk = readFileSync(`${product.dataDir}/recordings/${id}.wav`)
    assert.is(plainSize(onDisk.length), file.length)
    assert.not.ok(onDisk.includes(file.subarray(0, 16)), 'nothing of it is readable')
    const range = { authorization: `Bearer ${product.liveKey}`, range: 'bytes=101-40002' }
    const part = await fetch(`${product.baseUrl}/v1${path}/content`, { headers: range })
    assert.is(part.status, 206)
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(file.subarray(101, 40_003)))
    const mono = readWav(await product.download(`${path}/content?channels=mono`))
    if ('error' in mono) throw new Error(mono.error)
    assert.ok(levelAt(CALLER_HZ, mono.samples[0]!, 2400, 2400 + SECOND) > HEARD_DBOV)
    const ogg = await product.download(`${path}/content?channels=stereo&format=ogg`)
    assert.is(ogg.toString('latin1', 0, 4), 'OggS')
    onDisk[onDisk.length - 50]! ^= 1
    writeFileSync(`${product.dataDir}/recordings/${id}.wav`, onDisk)
    const broken = await fetch(`${product.baseUrl}/v1${path}/content`, { headers: { ...range, range: '' } })
      .then(answer => answer.arrayBuffer())
      .catch(error => error)
    assert.ok(broken instanceof Error, 'of a file that was changed the download breaks off')

    await product.ok('DELETE', path)
    assert.equal(
      readdirSync(`${product.dataDir}/recordings`, { recursive: true }).filter(name => String(name).includes(id)),
      [],
    )
    await caller.hangup()
    await endedCall(product, id)
    await product.ok('DELETE', `/calls/${id}`)
    assert.equal(
      (await product.all('/calls')).filter(call => call.id === id),
      [],
    )
    await phone.close()
  },
  LIMIT,
)

test.run()
