import { DateTime } from 'luxon'
import type { ReportRow } from '../content/tables.ts'
import type { Mail, SendMail } from '../mail.ts'
import type { Delivery, ReportRun } from '../schemas/report-run.ts'
import type { Db } from '../store.ts'
import type { Tenant } from '../tenancy.ts'
import { csvOf } from './csv.ts'
import { pdfOf } from './pdf.ts'
import { type Period, reportTable } from './table.ts'

/** The last whole day, week (from Monday) or month before `now`, by the clock of the time zone. */
export function lastPeriod(unit: ReportRow['period'], now: Date, timezone: string): Period {
  const end = DateTime.fromJSDate(now, { zone: timezone }).startOf(unit)
  return { from: iso(end.minus({ [unit]: 1 })), to: iso(end) }
}

const iso = (time: DateTime): string => time.toJSDate().toISOString()

export type RunOutcome = Pick<ReportRun, 'status' | 'error' | 'artifacts' | 'deliveries'>

/** Makes a report's artifacts and mails them; what fails is in the outcome. `sendMail` null: there is no mail server. */
export async function runReport(
  db: Db,
  tenant: Tenant,
  report: ReportRow,
  period: Period,
  sendMail: SendMail | null,
): Promise<RunOutcome> {
  const nothing = { csv: false, pdf: false }
  const table = await reportTable(db, tenant, report.kind, period)
  if (table === 'too_long') {
    return { status: 'failed', error: 'The period has too many rows.', artifacts: nothing, deliveries: [] }
  }
  const artifacts = { csv: report.csv === 1, pdf: report.pdf === 1 }
  const attachments = [
    ...(artifacts.csv ? [attachment(report, 'csv', 'text/csv; charset=utf-8', csvOf(table))] : []),
    ...(artifacts.pdf ? [attachment(report, 'pdf', 'application/pdf', await pdfOf(report.name, period, table))] : []),
  ]
  const recipients: string[] = JSON.parse(report.recipients)
  if (!tenant.livemode) {
    const deliveries = recipients.map((email): Delivery => ({ email, status: 'suppressed', error: null }))
    return { status: 'completed', error: null, artifacts, deliveries }
  }
  const text = `${report.name}\n${period.from} to ${period.to}\n${table.rows.length} rows\n`
  const mail = {
    subject: `${report.name}: ${period.from.slice(0, 10)} to ${period.to.slice(0, 10)}`,
    text,
    attachments,
  }
  const deliveries = await Promise.all(recipients.map(to => deliver(sendMail, { ...mail, to })))
  return { ...verdict(deliveries), artifacts, deliveries }
}

const attachment = ({ id }: ReportRow, extension: string, contentType: string, content: Buffer) => ({
  filename: `${id}.${extension}`,
  contentType,
  content,
})

async function deliver(sendMail: SendMail | null, mail: Mail): Promise<Delivery> {
  if (sendMail === null) {
    return { email: mail.to, status: 'failed', error: 'There is no mail server: set TANDEM_SMTP_URL.' }
  }
  try {
    await sendMail(mail)
    return { email: mail.to, status: 'sent', error: null }
  } catch (error) {
    return { email: mail.to, status: 'failed', error: error instanceof Error ? error.message : String(error) }
  }
}

function verdict(deliveries: Delivery[]): Pick<RunOutcome, 'status' | 'error'> {
  const failed = deliveries.filter(({ status }) => status === 'failed')
  if (failed.length === 0) return { status: 'sent', error: null }
  const status = failed.length === deliveries.length ? 'failed' : 'partially_sent'
  return { status, error: failed[0]?.error ?? null }
}
