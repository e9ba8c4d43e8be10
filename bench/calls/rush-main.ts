import { constants, setPriority } from 'node:os'
import { CallRush, type RushResult } from './rush.ts'

export type ToRush =
  | { type: 'open'; target: { host: string; port: number; user: string } }
  | { type: 'run'; rate: number; seconds: number }
  | { type: 'close' }

export type FromRush = { type: 'opened' } | { type: 'ran'; result: RushResult } | { type: 'closed' }

/**
 * The process of the calls that come: what it costs must not count for what it measures, nor may webhooks make it late. It goes before the product
 * where the system allows it, as phones wait for no process of ours, but is no real-time one: together they would use up what the system leaves those.
 */
let rush: CallRush | null = null
const tell = (message: FromRush): void => {
  process.send?.(message)
}

try {
  setPriority(constants.priority.PRIORITY_ABOVE_NORMAL)
} catch {
  // It takes a right (CAP_SYS_NICE) that we have not got.
}
process.on('message', async (message: ToRush) => {
  if (message.type === 'open') {
    rush = await CallRush.open(message.target)
    tell({ type: 'opened' })
  } else if (message.type === 'run') {
    if (rush !== null) tell({ type: 'ran', result: await rush.run(message.rate, message.seconds) })
  } else {
    await rush?.close()
    tell({ type: 'closed' })
  }
})
process.on('disconnect', () => process.exit(0))
