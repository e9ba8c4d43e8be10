import { FarEnd, type SeenCall } from './far-end.ts'

// The far end has a process of its own, so that it does not slow down the bench.
export type ToFarEnd = { type: 'open'; seed: number } | { type: 'seen' }
export type FromFarEnd = { type: 'opened'; port: number } | { type: 'seen'; calls: SeenCall[] }

let farEnd: FarEnd | null = null
const tell = (message: FromFarEnd): void => {
  process.send?.(message)
}

process.on('message', async (message: ToFarEnd) => {
  if (message.type === 'seen') return tell({ type: 'seen', calls: farEnd?.seen ?? [] })
  farEnd = await FarEnd.open(message.seed)
  tell({ type: 'opened', port: farEnd.port })
})
process.on('disconnect', () => process.exit(0))
