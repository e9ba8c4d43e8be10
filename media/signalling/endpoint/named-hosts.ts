import { isIP } from 'node:net'
import type { Body, Peer, UaEvent } from '../../../sip/user-agent.ts'
import { familyOf } from '../../kernel/own-addresses.ts'
import type { NameService } from '../names.ts'

/** Calls whose descriptions name hosts that are being looked up; names of further ones are not. */
const MAX_LOOKED_UP = 200
/** A name server that does not answer for so long keeps a call waiting no longer [ms]. */
const PATIENCE_MS = 2000
/** A host of audio, or of its RTCP (RFC 8866 §5.7, RFC 3605 §2.1): an address, or a name. */
const HOST = /^(c=IN IP([46]) |a=rtcp:\d{1,5} IN IP([46]) )([^\s/]+)/gm
const NAME = /^(?=.{1,253}$)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?$/

interface NamedHostsOptions {
  names: Pick<NameService, 'addresses'>
  /** Whether this peer may have our audio sent there. */
  mayReach: (peer: Peer | null, host: string) => boolean
  deliver: (event: UaEvent) => void
}

/**
 * Puts addresses in the place of names in the descriptions of far ends, before anybody reads these: what follows knows addresses only. The events of
 * a session wait meanwhile, in their order. A name that leads nowhere stays, and its description is refused by who reads it.
 */
export class NamedHosts {
  readonly #options: NamedHostsOptions
  /** Events that came while a name was looked up, by session. The agent limits the requests of each. */
  readonly #waiting = new Map<string, UaEvent[]>()

  constructor(options: NamedHostsOptions) {
    this.#options = options
  }

  take(event: UaEvent): void {
    const waiting = this.#waiting.get(event.sessionId)
    if (waiting !== undefined) waiting.push(event)
    else if (hasName(event) && this.#waiting.size < MAX_LOOKED_UP) void this.#hold(event)
    else this.#options.deliver(event)
  }

  async #hold(first: UaEvent): Promise<void> {
    const { sessionId } = first
    const waiting: UaEvent[] = [first]
    this.#waiting.set(sessionId, waiting)
    let peer: Peer | null = null
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
      if ('peer' in event) peer = event.peer
      this.#options.deliver(hasName(event) ? await this.#lookedUp(event, peer) : event)
    }
    this.#waiting.delete(sessionId)
  }

  async #lookedUp(event: UaEvent, peer: Peer | null): Promise<UaEvent> {
    const body = descriptionOf(event)!
    const text = textOf(body)
    const found = new Map<string, string>()
    for (const [, , audio, rtcp, host] of text.matchAll(HOST)) {
      if (!isName(host!)) continue
      const family = (audio ?? rtcp) === '6' ? 6 : 4
      const address = await this.#addressOf(host!, family, peer)
      if (address !== null) found.set(`${family} ${host}`, address)
    }
    const bytes = Buffer.from(
      text.replace(HOST, (line: string, start: string, audio: string | undefined, rtcp: string, host: string) => {
        const address = found.get(`${audio ?? rtcp} ${host}`)
        return address === undefined ? line : `${start}${address}`
      }),
      'latin1',
    )
    return withDescription(event, { ...body, bytes })
  }

  /** Of several addresses, one that may be sent to; if there is none, the first: as with one that the description names itself, its audio must come first. */
  async #addressOf(name: string, family: 4 | 6, peer: Peer | null): Promise<string | null> {
    const { names, mayReach } = this.#options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<readonly string[]>(resolve => {
      timer = setTimeout(resolve, PATIENCE_MS, [])
    })
    const all = await Promise.race([names.addresses(name), late])
    clearTimeout(timer)
    const addresses = all.filter(address => familyOf(address) === family)
    return addresses.find(address => mayReach(peer, address)) ?? addresses[0] ?? null
  }
}

const isName = (host: string): boolean => isIP(host) === 0 && NAME.test(host)

function hasName(event: UaEvent): boolean {
  const body = descriptionOf(event)
  if (body === null) return false
  for (const [, , , , host] of textOf(body).matchAll(HOST)) if (isName(host!)) return true
  return false
}

/** Latin-1 keeps each byte as it is. */
const textOf = ({ bytes }: Body): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

function descriptionOf(event: UaEvent): Body | null {
  if ('offer' in event) return event.offer
  return 'body' in event ? event.body : null
}

const withDescription = (event: UaEvent, body: Body): UaEvent =>
  'offer' in event ? { ...event, offer: body } : ({ ...event, body } as UaEvent)
