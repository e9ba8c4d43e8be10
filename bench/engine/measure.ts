import { parseArgs } from 'node:util'
import { FRAME_MS } from '../../codecs/audio.ts'
import { legMemoryKb } from './memory.ts'
import { Phones, type Plan } from './phones.ts'
import { Dry, InC, Native, runFrame, Spread, type Subject } from './subjects.ts'

/**
 * What a leg costs, by parts, in one thread and by the CPU time of that thread, so that it can be measured on a busy machine. Started by `run.ts`:
 * `--legs 150 --room 3 --seconds 60 --only "native|floor"`. The seconds are those of the calls, not of the wall clock. `--cold`: other data fills
 * the CPU's caches before each slot, as in a process that sleeps in between. `--memory`: measures the memory of a leg instead.
 */
const FRAMES_PER_SECOND = 1000 / FRAME_MS
const WARM_UP_SECONDS = 15

const { values } = parseArgs({
  options: {
    legs: { type: 'string', default: '150' },
    room: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    cold: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
  },
})
const legs = Number(values.legs)
const roomSize = Number(values.room)
const plain: Plan = { legs, roomSize, isEncrypted: false }

async function openSubjects(): Promise<Subject[]> {
  const open: Record<string, () => Promise<Subject> | Subject> = {
    dry: () => new Dry('dry', plain, 0),
    'dry, encrypted': () => new Dry('dry, encrypted', { ...plain, isEncrypted: true }, 0),
    native: () => Native.open('native', plain, 0, 'single'),
    spread: () => new Spread(plain, 0),
    ring: () => Native.open('ring', plain, 0, 'ring'),
    'ring, encrypted': () => Native.open('ring, encrypted', { ...plain, isEncrypted: true }, 0, 'ring'),
    floor: () => InC.open(plain),
  }
  const names = Object.keys(open).filter(name => values.only === '' || values.only.split('|').includes(name))
  return Promise.all(names.map(async name => open[name]!()))
}

if (values.memory) {
  for (const isEncrypted of [false, true]) {
    const { each, afterStall } = legMemoryKb({ ...plain, isEncrypted })
    console.log(
      `${isEncrypted ? 'encrypted' : 'plain'} leg: ${each.heap.toFixed(1)} KB of heap, ${each.buffers.toFixed(1)} KB beside it; ` +
        `all of them after a stall: ${afterStall.heap.toFixed(0)} and ${afterStall.buffers.toFixed(0)} KB more`,
    )
  }
  process.exit()
}
const subjects = await openSubjects()
const phones = new Map(subjects.map(subject => [subject, new Phones(subject.plan)] as const))
const frames = (WARM_UP_SECONDS + Number(values.seconds)) * FRAMES_PER_SECOND
for (let frame = 0; frame < frames; frame++) {
  for (const subject of subjects) runFrame(subject, phones.get(subject)!, frame, values.cold)
  if (frame === WARM_UP_SECONDS * FRAMES_PER_SECOND) {
    for (const { meters } of subjects) for (const { meter } of meters) meter.clear()
  }
}
const floor = subjects.find(subject => subject instanceof InC)?.meters[0]?.meter.median
for (const { name, meters } of subjects) {
  const parts = meters.map(({ of, meter }) => `${of} ${(meter.median / legs).toFixed(2)}`)
  const sum = meters.reduce((total, { meter }) => total + meter.median, 0)
  const mean = meters.reduce((total, { meter }) => total + meter.mean, 0)
  const ratio = floor === undefined ? '' : `  ${(sum / floor).toFixed(2)} × the yardstick`
  console.log(
    `${name.padEnd(16)} ${(sum / legs).toFixed(2)} µs per leg and frame (mean ${(mean / legs).toFixed(2)}): ${parts.join(', ')}${ratio}`,
  )
}
for (const subject of subjects) subject.close()
