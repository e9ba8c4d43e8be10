import type { Readable } from 'node:stream'
import type { Transporter } from 'nodemailer'

export interface Mail {
  /** The same if the mail is sent again, so that the recipient's server can tell; without domain. */
  id: string
  to: string
  subject: string
  text: string
  attachments?: { filename: string; contentType: string; content: Readable }[]
}

/** Sends one mail; rejects with the reason of the server or the network. */
export type SendMail = (mail: Mail) => Promise<void>

export const NO_MAIL_SERVER = 'There is no mail server: set TANDEM_SMTP_URL.'

const TIMEOUT_MS = 10_000

/** Mail by SMTP. `url`: `smtp://` or `smtps://` with user and password, the sender as `?from=`. */
export function smtpMailer(url: string): SendMail {
  const server = new URL(url)
  const from = server.searchParams.get('from') ?? `tandem@${server.hostname}`
  server.searchParams.delete('from')
  let opening: Promise<Transporter> | undefined
  return async ({ id, ...mail }) => {
    opening ??= transportTo(server.href)
    const transport = await opening
    await transport.sendMail({ ...mail, from, messageId: `<${id}@${server.hostname}>` })
  }
}

/** Loaded with the first mail: a control process that was killed must serve again at once, and few processes send mail. */
async function transportTo(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    url,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** Whether a failed mail is worth a retry: the network failed, the server's refusal is temporary (RFC 5321 §4.2.1), or is one of our password. */
export function isTemporary(error: unknown): boolean {
  const { responseCode, code } = error as { responseCode?: number; code?: string }
  if (responseCode !== undefined && code !== 'EAUTH') return responseCode >= 400 && responseCode < 500
  return ['EAUTH', 'ECONNECTION', 'ECONNREFUSED', 'ECONNRESET', 'ESOCKET', 'ETIMEDOUT', 'EDNS'].includes(code ?? '')
}
