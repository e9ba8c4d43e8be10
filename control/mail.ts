import { createTransport } from 'nodemailer'

export interface Mail {
  to: string
  subject: string
  text: string
  attachments: { filename: string; contentType: string; content: Buffer }[]
}

/** Sends one mail; rejects with the server's or the network's reason. */
export type SendMail = (mail: Mail) => Promise<void>

const TIMEOUT_MS = 10_000

/** Mail by SMTP. `url`: `smtp://` or `smtps://`, user and password in it, the sender as `?from=`. */
export function smtpMailer(url: string): SendMail {
  const server = new URL(url)
  const from = server.searchParams.get('from') ?? `tandem@${server.hostname}`
  server.searchParams.delete('from')
  const transport = createTransport({
    url: server.href,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return async mail => {
    await transport.sendMail({ ...mail, from })
  }
}
