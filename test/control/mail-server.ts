import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

interface ReceivedMail {
  from: string
  to: string
  text: string
}

/** A real mail server that keeps what it is given. It knows nobody called `nobody`, is busy for `busy`, and believes only one password. */
export async function makeMailServer() {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ password }, _session, done) =>
      done(password === 'right' ? null : Object.assign(new Error('Invalid'), { responseCode: 535 }), { user: 'us' }),
    onRcptTo: ({ address }, _session, done) => {
      if (address.startsWith('nobody')) return done(Object.assign(new Error('No such mailbox'), { responseCode: 550 }))
      if (address.startsWith('busy')) return done(Object.assign(new Error('Come back later'), { responseCode: 450 }))
      done(null)
    },
    onData: (stream, { envelope }, done) => {
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', chunk => {
        text += chunk
      })
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address).join(), text })
        done()
      })
    },
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    mails,
    url: `smtp://127.0.0.1:${port}?from=reports@tandem.test`,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

/** An attachment of a mail, decoded. */
export function attachment({ text }: ReceivedMail, type: string): Buffer {
  const part = text
    .split(/\r\n--/)
    .find(piece => piece.includes(`Content-Type: ${type}`) && piece.includes('filename='))
  const body = part?.slice(part.indexOf('\r\n\r\n') + 4) ?? ''
  return Buffer.from(body, 'base64')
}

/** The text of a mail without attachments, as its writer wrote it (RFC 2045 §6.7 undone). */
export function plainText({ text }: ReceivedMail): string {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const body = rest.join('\r\n\r\n').replaceAll('\r\n', '\n')
  if (!/quoted-printable/i.test(head)) return body
  const bytes = body
    .replaceAll('=\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
