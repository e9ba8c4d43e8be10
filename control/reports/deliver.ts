import { DateTime } from 'luxon'
import { isTemporary, type Mail, NO_MAIL_SERVER, type SendMail } from '../kernel/mail/mail.ts'
import type { Db } from '../kernel/store/store.ts'
import type { Tenant } from '../kernel/tenancy.ts'
import { organisationSettings } from '../organisation/routes.ts'
import { CONTENT_TYPES, FORMATS, type Format } from './format.ts'
import { artifactSize, readArtifact } from './pieces.ts'
import type { Delivery, ReportRun } from './run-schema.ts'
import type { ReportRow, ReportRunRow } from './tables.ts'

/** Maximum size of an attachment, which mail servers commonly accept; base64 adds a third. Larger files are only available over the API. */
const MAX_ATTACHED_BYTES = 10 * 1024 * 1024

/** The mail about a run to one of its recipients. */
export async function reportMail(
  db: Db,
  tenant: Tenant,
  { report, run, index }: { report: ReportRow; run: ReportRunRow; index: number },
): Promise<Mail> {
  const made: Format[] = FORMATS.filter(format => run[format] === 1)
  const sizes = await Promise.all(made.map(format => artifactSize(db, tenant, { runId: run.id, format })))
  const attached = made.filter((_, i) => (sizes[i] ?? 0) <= MAX_ATTACHED_BYTES)
  const left = made.filter(format => !attached.includes(format))
  const recipients: string[] = JSON.parse(run.recipients)
  const { timezone } = await organisationSettings(db, tenant)
  return {
    id: `${run.id}.${index}`,
    to: recipients[index]!,
    subject: `${report.name}: ${daysOf(run, timezone)}`,
    text: [
      report.name,
      `${run.period_from} to ${run.period_to}`,
      ...left.map(format => `Too large for a mail: GET /v1/reports/${report.id}/runs/${run.id}/${format}`),
      '',
    ].join('\n'),
    attachments: attached.map(format => ({
      filename: `${report.id}.${format}`,
      contentType: CONTENT_TYPES[format],
      content: readArtifact(db, tenant, { runId: run.id, format }),
    })),
  }
}

/** The days of a run's period, the last one included. */
function daysOf({ period_from, period_to }: ReportRunRow, timezone: string): string {
  const ends = [Date.parse(period_from), Date.parse(period_to) - 1]
  const days = ends.map(at => DateTime.fromMillis(at, { zone: timezone }).toISODate())
  return [...new Set(days)].join(' to ')
}

/** Sends a mail. `temporary`: another attempt may succeed. */
export async function deliver(sendMail: SendMail | null, mail: Mail): Promise<Delivery & { temporary: boolean }> {
  if (sendMail === null) return { email: mail.to, status: 'failed', error: NO_MAIL_SERVER, temporary: false }
  try {
    await sendMail(mail)
    return { email: mail.to, status: 'sent', error: null, temporary: false }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { email: mail.to, status: 'failed', error: reason, temporary: isTemporary(error) }
  } finally {
    for (const { content } of mail.attachments ?? []) content.destroy()
  }
}

/** How a run's deliveries affect its state. */
export function verdict(deliveries: Delivery[]): Pick<ReportRun, 'status' | 'error'> {
  const failed = deliveries.filter(({ status }) => status === 'failed')
  if (failed.length > 0) {
    const status = failed.length === deliveries.length ? 'failed' : 'partially_sent'
    return { status, error: failed[0]?.error ?? null }
  }
  return { status: deliveries.some(({ status }) => status === 'sent') ? 'sent' : 'completed', error: null }
}
