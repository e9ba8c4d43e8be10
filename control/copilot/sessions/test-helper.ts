import type { Static } from 'typebox'
import type { Context } from '../../http/context.ts'
import { isProblem, type Problem } from '../../http/errors.ts'
import { newId } from '../../kernel/ids.ts'
import type { utterancesBody } from './command-schema.ts'
import { usableSession } from './commands.ts'
import { type HearingParts, hearSaid } from './hearing.ts'
import { sessionMs } from './records.ts'
import { type CopilotSession, toSession } from './session-schema.ts'

/** What an utterance takes whose beginning is not told [ms]. */
const UTTERANCE_MS = 1000

/** Text as it would be heard, so that an integration is tested without audio. Answers the session when all of it is dealt with. */
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
      // Lest two of them be one: what is not named has a name of its own.
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
