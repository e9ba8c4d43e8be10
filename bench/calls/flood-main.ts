import { constants, setPriority } from 'node:os'
import { Flood } from './flood.ts'

// The process of a flood. It gets less CPU than all others, so that it does not disturb what measures.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

export type ToFlood =
  | { type: 'open'; hosts: number; host: string; port: number }
  | { type: 'begin'; perSecond: number }
  | { type: 'stop' }

/** Answers to `open` and `stop`; `sent`: packets since the start. */
export type FromFlood = { type: 'opened' } | { type: 'stopped'; sent: number }

let flood: Flood | null = null
const tell = (message: FromFlood): void => {
  process.send?.(message)
}

process.on('message', async (message: ToFlood) => {
  if (message.type === 'open') {
    flood = await Flood.open(message.hosts, message)
    tell({ type: 'opened' })
  } else if (message.type === 'begin') flood?.begin(message.perSecond)
  else {
    flood?.stop()
    tell({ type: 'stopped', sent: flood?.sent ?? 0 })
  }
})
process.on('disconnect', () => process.exit(0))
