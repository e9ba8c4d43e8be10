import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineThread } from '../engine/engine-client.ts'
import { Threads } from '../engine/threads/threads.ts'
import { OwnAddresses } from '../kernel/own-addresses.ts'
import { inTurns, isFailure, type MediaEvent, REHEARSED_CALLS, type RoomSpec } from '../protocol.ts'
import { NO_QUALITY } from '../rooms/leg.ts'
import type { DoorOptions, OpenDoor } from '../rtp/datagrams/door-socket.ts'
import { LINGER_MS } from '../tracing/sip-trace.ts'
import { Tracer } from '../tracing/tracer.ts'
import { SipEndpoint } from './endpoint/sip-endpoint.ts'
import { FarEnds } from './far-ends.ts'
import { NO_AUDIO } from './line.ts'
import { Names } from './names.ts'
import { Switchboard } from './switchboard.ts'
import { TraceDesk } from './trace-desk.ts'

const HOST = '127.0.0.1'
const NETWORKS = ['127.0.0.0/8']
const CODECS: ['PCMU', 'PCMA'] = ['PCMU', 'PCMA']
/** Needs all of 32 bits, as most SSRCs do (`media/engine/warm-up.ts`). */
const SSRC = 0xf000_0000
const PORTS = { caller: 5060, called: 5062 }

/** Ports without a network between them. */
class Wire {
  readonly #doors = new Map<number, DoorOptions>()
  #sent = 0

  readonly open: OpenDoor = async door => {
    this.#doors.set(door.port, door)
    return {
      dropped: 0,
      send: (bytes, _host, port) => {
        const datagram = this.#datagramOf(bytes)
        setImmediate(() => this.#doors.get(port)?.take(datagram, HOST, door.port))
      },
      close: () => {},
    }
  }

  /** A socket delivers Node's Buffer or, in a rush, a Uint8Array. Code compiled for one kind only would be discarded when the rush begins. */
  #datagramOf(bytes: Uint8Array): Uint8Array {
    return this.#sent++ % 2 === 0 ? Buffer.from(bytes) : Uint8Array.from(bytes)
  }
}

/** A thread whose legs have no sound. */
const SILENT_THREAD: EngineThread = {
  request: async name => {
    if (name === 'leg.open') return { port: 4000, ssrc: SSRC, begun: NO_AUDIO } as never
    return (name === 'leg.close' ? { quality: NO_QUALITY, packets: null } : NO_AUDIO) as never
  },
}

/** How many calls were answered, and have ended. */
interface Rehearsed {
  answered: number
  ended: number
  close(): void
}

/** The signalling of a node, at one end of the wire. */
class Node {
  readonly switchboard: Switchboard
  readonly sip: SipEndpoint
  readonly #traces: TraceDesk
  #traced: string[] = []

  constructor(wire: Wire, port: number, emit: (event: MediaEvent) => void) {
    const addresses = new OwnAddresses([HOST], [])
    const threads = new Threads([SILENT_THREAD], () => performance.now())
    const tracer = new Tracer(null)
    // Failed calls are missing in the result.
    const fault = (): void => {}
    this.switchboard = new Switchboard({
      ...{ threads, addresses, emit, fault, maxCalls: 100, farEnds: new FarEnds({ emit }), trace: tracer.trace },
    })
    this.sip = new SipEndpoint({
      ...{ addresses, port, openUdp: wire.open, isUdpOnly: true, names: new Names(), allowedNetworks: NETWORKS },
      productName: 'tandem',
      optionsStatus: () => ({ status: 200 }),
      inviteDoor: invite => this.switchboard.atTheDoor(invite),
      onEvent: event => this.switchboard.onSip(event),
      onMessage: (...message) => tracer.sip(...message),
    })
    this.sip.know(NETWORKS)
    this.switchboard.attach(this.sip)
    this.#traces = new TraceDesk({ trace: tracer.trace, lines: this.switchboard.lines })
  }

  /** Discards the traces, as if they were stored. */
  forgetTraces(): void {
    do this.#traced = this.#traces.take({ done: this.#traced }).traces.map(({ legId }) => legId)
    while (this.#traced.length > 0)
  }
}

const kept: Node[] = []

/**
 * Makes calls over a wire in memory within this thread, so that V8 compiles what a call needs here before real callers come. Otherwise the
 * first second of many calls runs interpreted while they wait. The last call is kept, because compiled code refers weakly to the hidden
 * classes of objects (`media/engine/warm-up.ts`).
 */
export async function rehearse(calls = REHEARSED_CALLS): Promise<Rehearsed> {
  const wire = new Wire()
  const count = { answered: 0, ended: 0 }
  const room = (roomId: string): RoomSpec => ({
    ...{ roomId, kind: 'echo', chimes: false, musicWhenAlone: false, maxMembers: 8 },
  })
  const called = new Node(wire, PORTS.called, ({ name, body }) => {
    if (name === 'leg.incoming') {
      const { legId } = body
      const answer = { legId, room: room(legId), affinity: '', codecs: CODECS, srtp: 'optional' as const }
      called.switchboard.answer(answer).catch(() => {})
    } else if (name === 'leg.ended') count.ended++
  })
  const caller = new Node(wire, PORTS.caller, ({ name, body }) => {
    if (name !== 'leg.answered') return
    const isLast = ++count.answered === calls
    if (!isLast) caller.switchboard.hangup({ legId: body.legId, reason: 'api_hangup' }).catch(() => {})
  })
  const nodes = [caller, called]
  await Promise.all(nodes.map(({ sip }) => sip.listen()))

  async function call(legId: string): Promise<void> {
    const dialled = await caller.switchboard.dial({
      ...{ legId, room: room(legId), affinity: '', timeoutS: 30 },
      target: {
        ...{ uri: `sip:1002@${HOST}:${PORTS.called}`, from: { uri: `sip:+4930123456@${HOST}` }, codecs: CODECS },
        ...{ hosts: [], route: [], publicOnly: false, credentials: null },
      },
    })
    if (isFailure(dialled)) throw new Error(dialled.message)
  }

  const forgetTraces = (): void => {
    for (const node of nodes) node.forgetTraces()
  }
  await inTurns(calls, call, forgetTraces)
  await sleep(LINGER_MS)
  forgetTraces()
  kept.splice(0, kept.length, ...nodes)
  return {
    ...count,
    close: () => {
      for (const { sip } of nodes) sip.close()
    },
  }
}
