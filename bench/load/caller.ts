import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { applyAnswer, type Capabilities, createOffer, PCMU } from '../../sip/sdp/offer-answer.ts'
import { type Action, type UaEvent, UserAgent } from '../../sip/user-agent.ts'
import type { FarEnd } from './wires.ts'

const HOST = '127.0.0.1'
const SDP = 'application/sdp'
/** How often the user agent's timers are advanced: SIP's retransmissions begin at 500 ms, so this is often enough. */
const ADVANCE_MS = 20
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024

interface Dialling {
  capabilities: Capabilities
  offer: Uint8Array
  answered: (to: FarEnd | Error) => void
}

/** A call that was refused. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, reason: string) {
    super(`call refused: ${status} ${reason}`)
    this.status = status
  }
}

export interface Dial {
  /** The users that call and are called. */
  from: string
  user: string
  host: string
  port: number
  /** The port to which the far end is to send. */
  rtpPort: number
  isEncrypted: boolean
}

/** Places the calls of the load: one SIP user agent on one UDP socket. */
export class Caller {
  readonly #socket: Socket
  readonly #agent: UserAgent
  readonly #dialling = new Map<string, Dialling>()
  readonly #sessions = new Set<string>()
  readonly #timer: NodeJS.Timeout

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#agent = new UserAgent({
      name: 'tandem-bench',
      local: () => ({ host: HOST, port: socket.address().port }),
      random: () => randomBytes(12).toString('hex'),
    })
    socket.on('message', (bytes, from) => {
      this.#do(this.#agent.receive(bytes, { transport: 'udp', host: from.address, port: from.port }, performance.now()))
    })
    this.#timer = setInterval(() => this.#do(this.#agent.advance(performance.now())), ADVANCE_MS)
  }

  static async open(): Promise<Caller> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: RECEIVE_BUFFER_BYTES })
    socket.bind(0, HOST)
    await once(socket, 'listening')
    return new Caller(socket)
  }

  /** Calls. Resolves with the far end's media addresses and keys; throws if the call is not answered. */
  async dial(call: Dial): Promise<FarEnd> {
    const capabilities: Capabilities = {
      codecs: [PCMU],
      telephoneEvent: true,
      host: HOST,
      port: call.rtpPort,
      srtp: { policy: call.isEncrypted ? 'required' : 'off', random: randomBytes },
    }
    const offer = createOffer(capabilities, 'sendrecv', { id: String(this.#sessions.size + 1), previous: null })
    const { sessionId, actions } = this.#agent.invite(
      {
        to: `sip:${call.user}@${call.host}:${call.port}`,
        from: `sip:${call.from}@${HOST}`,
        body: { type: SDP, bytes: offer },
      },
      performance.now(),
    )
    const answer = new Promise<FarEnd | Error>(answered =>
      this.#dialling.set(sessionId, { capabilities, offer, answered }),
    )
    this.#do(actions)
    const to = await answer
    if (to instanceof Error) throw to
    return to
  }

  /** Ends all calls. Waits at most 2 s for the answers to the BYEs. */
  async close(): Promise<void> {
    for (const sessionId of this.#sessions) this.#do(this.#agent.bye(sessionId, performance.now()))
    const limit = performance.now() + 2000
    while (this.#agent.sessionCount > 0 && performance.now() < limit) {
      await new Promise(resolve => setTimeout(resolve, ADVANCE_MS))
    }
    clearInterval(this.#timer)
    this.#socket.close()
  }

  #do(actions: Action[]): void {
    for (const action of actions) {
      if (action.kind === 'send') this.#socket.send(action.bytes, action.to.port, action.to.host)
      else if (action.kind === 'event') this.#on(action.event)
    }
  }

  #on(event: UaEvent): void {
    const dialling = this.#dialling.get(event.sessionId)
    if (event.kind === 'answered') {
      this.#dialling.delete(event.sessionId)
      this.#sessions.add(event.sessionId)
      dialling?.answered(mediaOf(dialling, event.body?.bytes))
    } else if (event.kind === 'rejected') {
      this.#dialling.delete(event.sessionId)
      dialling?.answered(new Refused(event.status, event.reason))
    } else if (event.kind === 'ended') {
      this.#sessions.delete(event.sessionId)
      dialling?.answered(new Error(`call ended: ${event.cause}`))
    }
  }
}

function mediaOf({ offer, capabilities }: Dialling, answer: Uint8Array | undefined): FarEnd | Error {
  const media = answer === undefined ? { error: 'no answer' } : applyAnswer(offer, answer, capabilities)
  if ('error' in media) return new Error(`bad answer: ${media.error}`)
  return { host: media.remoteHost, rtpPort: media.remotePort, rtcpPort: media.remoteRtcpPort, keys: media.srtp }
}
