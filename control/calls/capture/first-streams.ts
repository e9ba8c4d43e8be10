import type { RoomCapture, StreamSpec } from '../../../media/protocol.ts'
import type { Db } from '../../kernel/store/store.ts'
import type { CallRow } from '../tables.ts'
import { type StreamDeps, streamSpec, unstartedStreams } from './streams.ts'

/**
 * Streams that media starts by itself, with the first sample. Started by a command after the answer, they would miss the first word.
 * `only`: these alone.
 */
export async function withStreams(
  db: Db,
  deps: StreamDeps,
  call: CallRow,
  legId: string,
  capture: RoomCapture,
  only?: readonly string[],
): Promise<RoomCapture> {
  const unstarted = await unstartedStreams(db, call)
  const rows = only === undefined ? unstarted : unstarted.filter(({ id }) => only.includes(id))
  if (rows.length === 0) return capture
  const streams: StreamSpec[] = []
  for (const row of rows) streams.push(await streamSpec(db, deps, call, { legId }, row))
  return { ...capture, streams }
}
