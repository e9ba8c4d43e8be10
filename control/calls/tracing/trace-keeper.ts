import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { deflateRawSync, inflateRaw } from 'node:zlib'
import { isFailure, type SipLegTrace } from '../../../media/protocol.ts'
import { insertRows } from '../../kernel/store/compiled.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { CommandPort } from '../../media-link/events.ts'
import type { SipTraceRow } from './tables.ts'

const inflate = promisify(inflateRaw)

interface TraceKeeperParts {
  store: Store
}

/**
 * Fetches the SIP traces of ended legs and stores them, batch by batch, a transaction each, apart from any call set-up. Media keeps a
 * batch until it is told that it is stored, so none is lost if this process dies.
 */
export class TraceKeeper {
  readonly #store: Store

  constructor({ store }: TraceKeeperParts) {
    this.#store = store
  }

  /** To be called regularly; fetches everything there is. */
  async run(media: CommandPort<'sip.trace_take'>): Promise<void> {
    let done: string[] = []
    for (;;) {
      const reply = await media.request('sip.trace_take', { done })
      if (isFailure(reply) || reply.traces.length === 0) return
      // Earlier events from media say whose leg it is.
      await media.settled()
      await this.#keep(reply.traces)
      done = reply.traces.map(({ legId }) => legId)
    }
  }

  async #keep(traces: readonly SipLegTrace[]): Promise<void> {
    const contents: string[] = []
    for (const trace of traces) {
      contents.push(packed(trace))
      // Each is little work, but all at once would keep calls waiting.
      await nextTurn()
    }
    await this.#store.transaction(async trx => {
      const ids = traces.map(({ legId }) => legId)
      const legs = await trx
        .selectFrom('participants')
        .select(['id', 'call_id', 'organisation_id', 'livemode'])
        .where('id', 'in', ids)
        .execute()
      const kept = await trx.selectFrom('sip_traces').select('id').where('id', 'in', ids).execute()
      // Some legs became no call, or their call was deleted meanwhile, or they were stored before the last process died.
      const rows = legs
        .filter(({ id }) => !kept.some(row => row.id === id))
        .map(leg => {
          const index = ids.indexOf(leg.id)
          return { dropped: traces[index]!.dropped, content: contents[index]!, ...leg }
        })
      if (rows.length > 0) await insertRows(trx, 'sip_traces', rows)
    })
  }
}

/** A trace is short: half of the time would go into tables for long texts, which make it no smaller. */
const PACKING = { level: 1, windowBits: 12, memLevel: 4 }

/** A trace as a column holds it. In this thread: to hand it to another one and back takes several times as long as to pack it. */
const packed = (trace: SipLegTrace): string => deflateRawSync(JSON.stringify(trace), PACKING).toString('base64')

export const unpacked = async ({ content }: Pick<SipTraceRow, 'content'>): Promise<SipLegTrace> =>
  JSON.parse((await inflate(Buffer.from(content, 'base64'))).toString())
