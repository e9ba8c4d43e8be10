import { endLostTranscripts } from '../calls/capture/transcripts.ts'
import { endProgram } from '../calls/programs/records.ts'
import { UNENDED } from '../calls/programs/tables.ts'
import { nodeOf } from '../kernel/store/node.ts'
import type { Db, Step } from '../kernel/store/store.ts'
import type { Vault } from '../kernel/vault.ts'
import { endLostVoicemails } from './voicemail/records.ts'

/** Ends programs whose calls have ended, transcripts and voicemails of a lost node, for which `db` acts. Nobody else will end them. */
export async function endLostPrograms(vault: Vault, db: Db, at: string, step: Step): Promise<void> {
  await endLostTranscripts(vault, db, at, step)
  await endLostVoicemails(db, new Set(), at, step)
  const rows = await db
    .selectFrom('call_programs')
    .innerJoin('calls', 'calls.id', 'call_programs.id')
    .selectAll('call_programs')
    .where('calls.node_id', '=', nodeOf(db))
    .where('calls.ended_at', 'is not', null)
    .where('call_programs.status', 'in', UNENDED)
    .execute()
  for (const row of rows) await step(trx => endProgram(trx, row, 'caller_hangup', at))
}
