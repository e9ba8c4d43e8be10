/**
 * Makes the recorded calls: `node --import tsx bench/copilot/recordings/make.ts`. The same texts give the same files. Each party has its own
 * channel, as from a telephone: 300 to 3400 Hz, at its level, in noise, µ-law. `times.json` has the time of each line.
 */
import { writeFileSync } from 'node:fs'
import { clamp16, NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { Flite } from '../../../media/speech/flite.ts'
import { activeRms, atLevel, noiseOf, seededNoise, speechSpan } from '../../hearing/noises.ts'
import { BABBLE, BABBLE_VOICES } from '../../hearing/sentences.ts'
import { HELD } from '../calls/held.ts'
import { type LabelledCall, type Sound, textOf } from '../calls/labelled-call.ts'
import { SEEN } from '../calls/seen.ts'
import { fileOf, type LineTime } from './recorded-call.ts'

const MS = NARROWBAND_HZ / 1000
const LEAD_IN = 800 * MS
const TAIL = 1500 * MS
/** Minimum and maximum pause between two turns, and between two lines of a turn. */
const TURN_GAP = [350 * MS, 900 * MS] as const
const LINE_GAP = [120 * MS, 420 * MS] as const
/** How long before the end of the other party's turn an `over` turn begins. */
const OVERLAP = 700 * MS
/** Minimum noise of every line [dBov]. */
const LINE_NOISE_DB = -66
const LOWEST_HZ = 300
const HIGHEST_HZ = 3400

const flite = new Flite(1)

async function speak(text: string, voice: string): Promise<Int16Array> {
  const made = await flite.speak(text, voice, null)
  if ('error' in made) throw new Error(made.error)
  const { from, to } = speechSpan(made.samples)
  return made.samples.slice(from, to)
}

/** Decides when each line of the call is said. */
async function layOut({ turns }: LabelledCall, { voices, levels }: Sound, random: () => number) {
  const between = ([least, most]: readonly [number, number]): number =>
    Math.round(least + ((random() + 1) / 2) * (most - least))
  const said: (LineTime & { samples: Int16Array })[] = []
  let at = LEAD_IN
  for (const { party, lines, over = false } of turns) {
    if (said.length > 0) at += over ? -OVERLAP : between(TURN_GAP)
    for (const [n, line] of lines.entries()) {
      if (n > 0) at += between(LINE_GAP)
      const spoken = await speak(textOf(line), voices[party])
      const samples = atLevel(spoken, levels[party], activeRms(spoken))
      said.push({ party, from: at, to: at + samples.length, samples })
      at += samples.length
    }
  }
  return said
}

/** Filters to the band of a telephone: second-order sections of the RBJ cookbook, with the Q of Butterworth filters. */
function overTelephone(samples: Float64Array): Float64Array {
  return filtered(filtered(samples, 'high', LOWEST_HZ), 'low', HIGHEST_HZ)
}

function filtered(samples: Float64Array, pass: 'high' | 'low', hz: number): Float64Array {
  const w = (2 * Math.PI * hz) / NARROWBAND_HZ
  const alpha = Math.sin(w) / Math.SQRT2
  const side = pass === 'high' ? (1 + Math.cos(w)) / 2 : (1 - Math.cos(w)) / 2
  const middle = pass === 'high' ? -2 * side : 2 * side
  const out = new Float64Array(samples.length)
  let [x1, x2, y1, y2] = [0, 0, 0, 0]
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i]!
    const y = (side * x + middle * x1 + side * x2 + 2 * Math.cos(w) * y1 - (1 - alpha) * y2) / (1 + alpha)
    out[i] = y
    ;[x2, x1, y2, y1] = [x1, x, y1, y]
  }
  return out
}

async function record(call: LabelledCall, seed: number): Promise<LineTime[]> {
  const sound = call.sound!
  const said = await layOut(call, sound, seededNoise(seed))
  const length = said.at(-1)!.to + TAIL
  const talkers = await Promise.all(BABBLE.map((text, i) => speak(text, BABBLE_VOICES[i % BABBLE_VOICES.length]!)))
  const { kind, levelDb } = sound.noise
  const noises = {
    agent: noiseOf('white', LINE_NOISE_DB, length, seed, []),
    customer: noiseOf(kind, levelDb, length, seed + 1, talkers),
  }
  const channels = (['agent', 'customer'] as const).map(party => {
    const line = Float64Array.from(noises[party])
    for (const { samples, from } of said.filter(one => one.party === party)) {
      for (let i = 0; i < samples.length; i++) line[from + i]! += samples[i]!
    }
    const octets = new Uint8Array(length)
    PCMU.encode(Int16Array.from(overTelephone(line), clamp16), octets)
    return octets
  })
  writeFileSync(fileOf(call), ulawWav(channels))
  return said.map(({ party, from, to }) => ({ party, from, to }))
}

/** A WAVE file of G.711 µ-law, which is format 7. */
function ulawWav(channels: readonly Uint8Array[]): Buffer {
  const count = channels.length
  const length = channels[0]!.length
  const head = Buffer.alloc(46)
  head.write('RIFF')
  head.writeUInt32LE(38 + count * length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(18, 16)
  head.writeUInt16LE(7, 20)
  head.writeUInt16LE(count, 22)
  head.writeUInt32LE(NARROWBAND_HZ, 24)
  head.writeUInt32LE(count * NARROWBAND_HZ, 28)
  head.writeUInt16LE(count, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 38)
  head.writeUInt32LE(count * length, 42)
  const data = Buffer.alloc(count * length)
  for (const [n, octets] of channels.entries()) for (let i = 0; i < length; i++) data[count * i + n] = octets[i]!
  return Buffer.concat([head, data])
}

const times: Record<string, LineTime[]> = {}
for (const [n, call] of [...SEEN.calls, ...HELD.calls].filter(({ sound }) => sound !== undefined).entries()) {
  times[call.name] = await record(call, 7919 * (n + 1))
}
writeFileSync(new URL('times.json', import.meta.url), `${JSON.stringify(times, null, 2)}\n`)
await flite.close()
