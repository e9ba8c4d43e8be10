import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { isProblem, type Problem } from '../../http/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { utterancesBody } from './command-schema.ts'
import { usableSession } from './commands.ts'
import { type HearingParts, hearSaid } from './hearing.ts'
import { sessionMs } from './records.ts'
import { type CopilotSession, toSession } from './session-schema.ts'

/** Assumed length of an utterance without `start_ms` [ms]. */
const UTTERANCE_MS = 1000

/** Feeds text as if it had been heard, so that an integration can be tested without audio. Returns the session after processing it. */
export function feedUtterances(
  parts: HearingParts,
  context: Context,
  id: string,
  { utterances }: Static<typeof utterancesBody>,
): Promise<CopilotSession | Problem> {
  return context.transaction(async trx => {
    let row = await usableSession(trx, context, id)
    if (isProblem(row)) return row
    for (const { party, text, final = true, utterance_id, start_ms, end_ms } of utterances) {
      const nowMs = sessionMs(trx, row, parts.now())
      const toMs = end_ms ?? Math.max(nowMs, start_ms ?? 0)
      const fromMs = Math.min(toMs, start_ms ?? Math.max(0, toMs - UTTERANCE_MS))
      // Utterances without an ID get one each, so that they are not taken for the same.
      const utteranceId = utterance_id ?? newId('copilot_input')
      const said = {
        kind: 'said',
        atMs: Math.max(nowMs, toMs),
        id: utteranceId,
        party,
        text,
        isFinal: final,
        fromMs,
        toMs,
      } as const
      row = await hearSaid(parts, trx, row, said)
    }
    return toSession(row)
  })
}
