import type { Product } from '../../../bench/product.ts'
import { inside, insideCalled, type RawCalls } from './raw-calls.ts'
import { audioAt, type Raw, type RawPeer } from './raw-peer.ts'

export const OFFER = 'Content-Type: application/sdp'
/** Methods of a far end that knows no UPDATE. */
export const METHODS = 'INVITE, ACK, BYE, CANCEL, NOTIFY, REFER, PRACK'

let trunks = 0

/** A far end with an address to itself, and the only connection for numbers of its prefix: calls over it disturb no other test. */
interface RawTrunk {
  peer: RawPeer
  host: string
  prefix: string
  connectionId: string
  contact: string
}

export async function rawTrunk(calls: RawCalls, fields: object = {}): Promise<RawTrunk> {
  const [host, prefix] = [`127.0.1.${++trunks}`, `+4977${trunks + 100}`]
  const peer = await calls.peer('udp', host)
  const own = { host, allowed_ips: [host], rates: [{ prefix, cost: 0 }] }
  const connectionId = await calls.connection(peer, { ...own, ...fields })
  return { peer, host, prefix, connectionId, contact: `Contact: <sip:far@${host}:${peer.port}>` }
}

/** An INVITE of the trunk to our echo. */
export const inviteOf = (
  calls: RawCalls,
  { peer, host }: RawTrunk,
  more: string[] = [],
  body = audioAt(6100),
): string =>
  calls
    .inviteFrom(peer, 'UDP', body)
    .replaceAll(`127.0.0.1:${peer.port}`, `${host}:${peer.port}`)
    .replace('Contact:', [...more, 'Contact:'].join('\r\n'))

/** A call with a trunk that is answered. */
export interface Talk extends RawTrunk {
  id: string
  /** Our 200, or our INVITE. */
  ours: Raw
  /** A request of the far end in this call. */
  theirs(method: string, cseq: number, more?: string[], body?: string): string
  send(text: string): void
}

/** @param said further headers of the far end's INVITE or 200 @param body of that */
type Begins = (product: Product, calls: RawCalls, said: string[], fields?: object, body?: string) => Promise<Talk>

export const BEGINS: Record<'who has called us' | 'whom we have called', Begins> = {
  'who has called us': async (product, calls, said, fields, body) => {
    const trunk = await rawTrunk(calls, fields)
    trunk.peer.send(inviteOf(calls, trunk, said, body), product.sip.port)
    const ours = await trunk.peer.next('200')
    ours.reply(inside(ours, 'ACK', 1))
    const { id } = await product.until('it is answered', async () =>
      (await product.all('/calls')).find(one => one.connection_id === trunk.connectionId && one.answered_at !== null),
    )
    return { ...trunk, id, ours, theirs: inside.bind(null, ours), send: text => ours.reply(text) }
  },
  'whom we have called': async (product, calls, said, fields, body = audioAt(6100)) => {
    const trunk = await rawTrunk(calls, fields)
    const { id } = await product.ok('POST', '/calls', { to: `${trunk.prefix}10` })
    const ours = await trunk.peer.next('INVITE')
    const ok = ours.answer('200 OK', [trunk.contact, ...said, OFFER], body)
    await trunk.peer.next('ACK')
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).answered_at === null ? null : true,
    )
    return { ...trunk, id, ours, theirs: insideCalled.bind(null, ours, ok), send: text => ours.reply(text) }
  },
}
