import { nodeOf } from '../databases/node.ts'
import type { Trx } from '../store.ts'
import { endProgram } from './records.ts'
import { endLostTranscripts } from './transcripts.ts'
import { endLostVoicemails } from './voicemail-records.ts'

/** What led the calls of the node that `trx` speaks for, once they have ended: nobody there will end it any more. */
export async function endLostPrograms(trx: Trx, at: string): Promise<void> {
  await endLostTranscripts(trx, at)
  await endLostVoicemails(trx, new Set(), at)
  const rows = await trx
    .selectFrom('call_programs')
    .innerJoin('calls', 'calls.id', 'call_programs.id')
    .selectAll('call_programs')
    .where('calls.node_id', '=', nodeOf(trx))
    .where('calls.ended_at', 'is not', null)
    .where('call_programs.status', '!=', 'ended')
    .execute()
  for (const row of rows) await endProgram(trx, row, 'caller_hangup', at)
}
