import type { Logger } from 'pino'
import { enqueue } from '../jobs/queue.ts'
import type { JobHandler } from '../jobs/runner.ts'
import type { Trx } from '../store/store.ts'
import type { Vault } from '../vault.ts'
import { isTemporary, type Mail, type SendMail } from './mail.ts'
import type { MailJob } from './payload.ts'

/** Queues a mail in the transaction that causes it; a waiting one with the same key is replaced. */
export async function queueMail(
  trx: Trx,
  vault: Vault,
  mail: Omit<Mail, 'attachments'>,
  { now, organisationId, key = mail.id }: { now: Date; organisationId: string; key?: string },
): Promise<void> {
  const { id, ...content } = mail
  await enqueue(trx, 'mail', { id, sealed: vault.seal(JSON.stringify(content), id) }, { now, organisationId, key })
}

/** Sends queued mails. A permanent refusal by the server is logged and not retried. */
export const mailHandler = (deps: { vault: Vault; sendMail: SendMail; log: Logger }): JobHandler<MailJob> => ({
  backoffMs: 30_000,
  run: async ({ id, sealed }) => {
    try {
      await deps.sendMail({ id, ...JSON.parse(deps.vault.open(sealed, id)) })
    } catch (error) {
      if (isTemporary(error)) throw error
      deps.log.error({ err: error, mailId: id }, 'mail refused')
    }
  },
})
