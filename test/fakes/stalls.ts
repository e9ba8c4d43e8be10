import { prompt } from '../codecs/signals.ts'
import type { FarEnd, TestEngine } from './engine.ts'

/** What a sender does for so many ticks that is heard by nobody. */
export type Stall = (engine: TestEngine, farEnd: FarEnd, ticks: number) => void

export const STALLS: Record<string, Stall> = {
  'the far end stands still, and its timestamps with it': (engine, _farEnd, ticks) => engine.run(ticks),
  'the network loses all packets': (engine, { speaker }, ticks) => {
    speaker.skip(ticks)
    engine.run(ticks)
  },
  'the network holds all packets up, and they come at once': (engine, { speaker }, ticks) => {
    const came = engine.now
    engine.run(ticks)
    for (let i = 0; i < ticks; i++) speaker.speak(prompt('announcement').subarray(i * 160, (i + 1) * 160), came)
  },
}
