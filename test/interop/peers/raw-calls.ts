import type { Product } from '../../../bench/product.ts'
import { audioAt, field, type Raw, RawPeer } from './raw-peer.ts'

const NUMBER = '+15551234567'

let requests = 0

/** What an INVITE says. */
interface Invitation {
  /** A number or URI; absent: our echo. */
  to?: string
  body?: string
  /** Further headers. */
  more?: readonly string[]
}

/** Calls between a product and far ends (`RawPeer`) whose bytes the test writes. */
export class RawCalls {
  readonly #product: Product
  readonly #open: RawPeer[] = []
  /** Paths of connections and routes, to be deleted after each test. */
  readonly #made: string[] = []

  constructor(product: Product) {
    this.#product = product
  }

  /** Opens a far end. @param host where it listens; its datagrams are sent from 127.0.0.1 if we are there */
  async peer(transport: 'udp' | 'tcp' = 'udp', host?: string): Promise<RawPeer> {
    const peer = await RawPeer[transport](host)
    this.#open.push(peer)
    return peer
  }

  /** An INVITE to our echo. */
  inviteFrom({ port }: RawPeer, transport: string, body: string, length = [`Content-Length: ${body.length}`]): string {
    return [
      `INVITE sip:1002@127.0.0.1:${this.#product.sip.port} SIP/2.0`,
      `Via: SIP/2.0/${transport} 127.0.0.1:${port};branch=z9hG4bK${++requests}raw;rport`,
      'Max-Forwards: 70',
      `From: <sip:far@127.0.0.1:${port}>;tag=far${requests}`,
      `To: <sip:1002@127.0.0.1>`,
      `Call-ID: raw-${requests}-${port}`,
      'CSeq: 1 INVITE',
      `Contact: <sip:far@127.0.0.1:${port}>`,
      'Content-Type: application/sdp',
      ...length,
      '',
      body,
    ].join('\r\n')
  }

  /** Sends an INVITE over UDP. @returns it */
  invite(peer: RawPeer, { to, body = audioAt(6000), more = [] }: Invitation = {}): string {
    const invite = this.inviteFrom(peer, 'UDP', body).replace('Contact:', [...more, 'Contact:'].join('\r\n'))
    const uri = to?.includes(':') ? to : `sip:${to ?? 1002}@127.0.0.1:${this.#product.sip.port}`
    const said = invite.replace(/^INVITE \S+/, `INVITE ${uri}`)
    peer.send(said, this.#product.sip.port)
    return said
  }

  /** Calls, and acknowledges our 200. @returns that */
  async answered(peer: RawPeer, invitation?: Invitation): Promise<Raw> {
    this.invite(peer, invitation)
    const answer = await peer.next('200')
    answer.reply(inside(answer, 'ACK', 1))
    return answer
  }

  /** Routes calls to a number, until the end of the test. */
  async route(to: string, target: object, fields: object = {}): Promise<void> {
    const { id } = await this.#product.ok('POST', '/inbound_routes', { match: { to }, target, ...fields })
    this.#made.push(`/inbound_routes/${id}`)
  }

  /** A queue that rings nobody. @returns what leads there */
  async emptyQueue(overflow: object = { when_no_agents: false }): Promise<{ type: 'queue'; id: string }> {
    const { id } = await this.#product.ok('POST', '/queues', { name: `Nobody ${++requests}`, overflow })
    return { type: 'queue', id }
  }

  /** Creates a connection whose far end is this peer. */
  async connection(peer: RawPeer, fields: object = {}): Promise<string> {
    const trunk = { name: 'Raw', kind: 'trunk', host: '127.0.0.1', port: peer.port, transport: 'udp', ...fields }
    const { id } = await this.#product.ok('POST', '/connections', trunk)
    this.#made.push(`/connections/${id}`)
    return id
  }

  /** Places a call over a new connection whose far end is this peer. */
  async callOver(peer: RawPeer, fields: object = {}, to = NUMBER): Promise<string> {
    await this.connection(peer, fields)
    return (await this.#product.ok('POST', '/calls', { to })).id
  }

  // biome-ignore lint/suspicious/noExplicitAny: the API's object
  endOf(id: string): Promise<any> {
    return this.#product.until('it has ended', async () => {
      const call = await this.#product.ok('GET', `/calls/${id}`)
      return call.ended_at === null ? null : call
    })
  }

  /** Deletes connections and routes, and closes peers, at the end of a test. */
  async leave(): Promise<void> {
    for (const path of this.#made.splice(0).reverse()) await this.#product.ok('DELETE', path)
    for (const peer of this.#open.splice(0)) peer.close()
  }
}

/** A caller's ACK or another request within the dialog that the product's answer has established. */
export const inside = (
  answer: Pick<Raw, 'text'>,
  method: string,
  cseq: number,
  more: string[] = [],
  body = '',
): string =>
  [
    `${method} ${/<([^>]*)>/.exec(field(answer.text, 'contact'))?.[1]} SIP/2.0`,
    field(answer.text, 'via')
      .replace(/^/, 'Via: ')
      .replace(/branch=\w+/, `branch=z9hG4bK${++requests}in`),
    'Max-Forwards: 70',
    ...['from', 'to', 'call-id'].map(name => `${name}: ${field(answer.text, name)}`),
    `CSeq: ${cseq} ${method}`,
    ...more,
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')

/** Ends a call that we have answered. */
export async function hangUp(peer: RawPeer, answer: Raw, cseq = 2): Promise<void> {
  answer.reply(inside(answer, 'BYE', cseq))
  await peer.next('200')
}

/** A request of who is called, within the dialog that its 200 to the product's INVITE has established. */
export const insideCalled = (
  invite: Pick<Raw, 'text'>,
  ok: string,
  method: string,
  cseq: number,
  more: string[] = [],
  body = '',
): string =>
  inside(invite, method, cseq, more, body)
    .replace(/^from: .*$/m, `From: ${field(ok, 'to')}`)
    .replace(/^to: .*$/m, `To: ${field(ok, 'from')}`)
