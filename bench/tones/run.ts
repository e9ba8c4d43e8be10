import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { DtmfDetector } from '../../codecs/detectors/dtmf-detector.ts'
import { type G711, PCMA, PCMU } from '../../codecs/g711.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import { seeded } from '../seeded.ts'
import { table } from '../tables.ts'
import { Lines } from './line.ts'
import { Material, PARTS, type Part, type Piece } from './material.ts'
import { recordings } from './recordings.ts'

/** What the detector found in one kind of sound of a part. */
interface TalkOff {
  part: Part | 'recordings'
  kind: string
  minutes: number
  /** Keys that were detected, though none was pressed. */
  keys: string[]
  /** Time per frame for the detector, and to compare for encoding and decoding it by G.711 [µs]. */
  detectorUs: number
  g711Us: number
}

/** Silence around a recording [samples]. */
const AROUND = 2400
const RECORDED_SEED = 30_11

const codes = new Uint8Array(LEG_SAMPLES)
const frame = new Int16Array(LEG_SAMPLES)
const microseconds = (): number => Number(process.hrtime.bigint()) / 1000

/**
 * Runs audio through G.711 and the detector of in-band keys.
 * @param minutes so much speech, music and tones, a fifth of them of each part; of recordings at most so much
 * @param folder a folder with recordings; null: audio that the bench makes
 */
export async function benchTones(
  minutes: number,
  folder: string | null,
  say: (line: string) => void,
): Promise<TalkOff[]> {
  if (folder !== null) return [...(await talkOff('recordings', recorded(folder, minutes), say))]
  const results: TalkOff[] = []
  for (const part of PARTS) {
    const material = new Material(part)
    results.push(...(await talkOff(part, material.pieces((minutes * 60) / PARTS.length), say)))
    await material.close()
  }
  return results
}

async function talkOff(
  part: TalkOff['part'],
  pieces: AsyncIterable<Piece>,
  say: (line: string) => void,
): Promise<TalkOff[]> {
  const of = new Map<string, TalkOff>()
  let number = 0
  for await (const { kind, samples } of pieces) {
    const result = of.get(kind) ?? { part, kind, minutes: 0, keys: [], detectorUs: 0, g711Us: 0 }
    of.set(kind, result)
    listen(samples, number++ % 2 === 0 ? PCMU : PCMA, result)
  }
  const results = [...of.values()]
  say(`${part}: ${results.reduce((sum, { keys }) => sum + keys.length, 0)} keys that nobody has pressed`)
  return results
}

/** Each recording at its own level and over a bad line, with silence before and after. */
async function* recorded(folder: string, minutes: number): AsyncGenerator<Piece> {
  const lines = new Lines(seeded(RECORDED_SEED))
  let left = minutes * 60 * NARROWBAND_HZ
  for await (const { samples } of recordings(folder)) {
    const alone = new Int16Array(samples.length + 2 * AROUND)
    alone.set(samples, AROUND)
    yield { kind: 'as recorded', samples: alone }
    yield { kind: 'over bad lines', samples: await lines.carry(alone) }
    left -= 2 * alone.length
    if (left <= 0) return
  }
}

/** Runs the samples through the detector, and adds to `result`. */
function listen(samples: Int16Array, law: G711, result: TalkOff): void {
  const detector = new DtmfDetector()
  let [coding, detecting] = [0, 0]
  for (let at = 0; at + LEG_SAMPLES <= samples.length; at += LEG_SAMPLES) {
    frame.set(samples.subarray(at, at + LEG_SAMPLES))
    const begin = microseconds()
    law.encode(frame, codes)
    law.decode(codes, frame)
    const coded = microseconds()
    detector.write(frame)
    detecting += microseconds() - coded
    coding += coded - begin
    if (detector.began !== null) result.keys.push(`${detector.began} at ${(at / NARROWBAND_HZ).toFixed(2)} s`)
  }
  const before = result.minutes * 3000
  const frames = Math.floor(samples.length / LEG_SAMPLES)
  const mean = (earlier: number, sum: number): number => (earlier * before + sum) / Math.max(1, before + frames)
  result.detectorUs = mean(result.detectorUs, detecting)
  result.g711Us = mean(result.g711Us, coding)
  result.minutes += frames / 3000
}

export function formatTones(results: readonly TalkOff[]): string[] {
  const minutes = results.reduce((sum, result) => sum + result.minutes, 0)
  const rows = results.map(({ part, kind, minutes: length, keys, detectorUs, g711Us }) => [
    `${part}: ${kind}`,
    length.toFixed(1),
    String(keys.length),
    detectorUs.toFixed(2),
    g711Us.toFixed(2),
    (detectorUs / g711Us).toFixed(1),
  ])
  return [
    `talk-off: ${minutes.toFixed(0)} minutes in which no key is pressed, through G.711`,
    ...table([['', 'minutes', 'keys', 'detector µs a frame', 'G.711 µs a frame', 'ratio'], ...rows]),
    'seen: what the detector was tuned on; held: what was run after that, and what it had missed mended; fresh: what was run when it was finished; harsh and unseen: the worst, for tuning and for afterwards.',
  ]
}
