import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import { resampleAll } from '../../codecs/resample.ts'
import { surest } from '../../media/speech/hearing/looks.ts'
import { MODEL_HZ, MoonshineModel } from '../../media/speech/moonshine/moonshine-model.ts'
import { table } from '../tables.ts'
import { overTheLine } from './chain.ts'
import { CallMaker, CONDITIONS, type Condition } from './labelled-calls.ts'
import type { SentenceSet } from './sentences.ts'

/** Audio around the voice, as much as an utterance keeps [samples]. */
const MARGIN = 1600

/** What several looks cost for the calls of one condition, in CPU time of this process, which does not depend on how busy the machine is. */
interface LooksCost {
  name: string
  utterances: number
  looks: number
  /** Utterances with more than two looks, which do not finish before the silence that ends the utterance. */
  late: number
  /** For each utterance: CPU time of one look, and of all [ms]. */
  oneMs: number[]
  allMs: number[]
}

export async function benchLooks(
  set: SentenceSet,
  count: number,
  say: (line: string) => void,
  only: (condition: Condition) => boolean,
): Promise<LooksCost[]> {
  const maker = new CallMaker(set)
  const model = await MoonshineModel.load()
  const costs: LooksCost[] = []
  await model.transcribe(new Float32Array(MODEL_HZ))
  try {
    for (const condition of CONDITIONS.filter(only).filter(({ speaks }) => speaks === 'alone')) {
      const cost: LooksCost = { name: condition.name, utterances: count, looks: 0, late: 0, oneMs: [], allMs: [] }
      for (let number = 0; number < count; number++) {
        const { line, from, to } = await maker.make(condition, number)
        const wide = await resampleAll(overTheLine(line.slice(from - MARGIN, to + MARGIN)), NARROWBAND_HZ, MODEL_HZ)
        const audio = Float32Array.from(wide, sample => sample / 32_768)
        cost.oneMs.push(await cpuMsOf(() => model.transcribe(audio)))
        cost.allMs.push(
          await cpuMsOf(async () => {
            const { looks } = await surest(model, audio, () => false)
            cost.looks += looks
            if (looks > 2) cost.late++
          }),
        )
      }
      costs.push(cost)
      say(`${cost.name}: ${cost.looks} looks at ${count} utterances`)
    }
  } finally {
    await maker.close()
  }
  return costs
}

async function cpuMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
const meanOf = (values: readonly number[]): number => sumOf(values) / Math.max(1, values.length)

export const formatLooks = (costs: readonly LooksCost[]): string[] => [
  'what looking again costs: CPU time of the recogniser for each utterance [ms]',
  ...table([
    ['', 'utterances', 'looks at each', 'more than 2', 'one look', 'all looks', 'more', 'most'],
    ...costs.map(({ name, utterances, looks, late, oneMs, allMs }) => [
      name,
      String(utterances),
      (looks / Math.max(1, utterances)).toFixed(1),
      String(late),
      meanOf(oneMs).toFixed(0),
      meanOf(allMs).toFixed(0),
      `${((100 * (sumOf(allMs) - sumOf(oneMs))) / Math.max(1, sumOf(oneMs))).toFixed(0)} %`,
      Math.max(0, ...allMs).toFixed(0),
    ]),
  ]),
]
