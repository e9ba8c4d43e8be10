import type { DialTarget } from '../../../media/protocol.ts'
import type { Db } from '../../kernel/store/store.ts'
import { waitToStart } from '../../trunks/call-starts.ts'
import type { WayOut } from '../../trunks/outbound.ts'
import type { ConnectionRow } from '../../trunks/tables.ts'

/** How a number or SIP URI is reached, and from where. */
export interface Way {
  target: DialTarget
  /** Tried one after the other if the target does not take the call. */
  alternatives: DialTarget[]
  connection: ConnectionRow | null
  from: string
  /** The ways to which `alternatives` belong. */
  others: readonly WayOut[]
}

/** The first way whose connection may start another call soon, and how long that takes [ms]; null: none may. */
export async function inTurn(db: Db, way: Way, nowMs: number): Promise<(Way & { delayMs: number }) | null> {
  if (way.connection === null) return { ...way, delayMs: 0 }
  const ways: readonly WayOut[] = [{ target: way.target, from: way.from, connection: way.connection }, ...way.others]
  for (const [n, one] of ways.entries()) {
    const delayMs = await waitToStart(db, one.connection, nowMs)
    const others = ways.slice(n + 1)
    if (delayMs !== null) return { ...one, others, alternatives: others.map(({ target }) => target), delayMs }
  }
  return null
}
