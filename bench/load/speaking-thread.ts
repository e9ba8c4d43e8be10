import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { becomeRealTime } from '../../media/kernel/thread-priority.ts'
import { AF_INET, Libc } from '../../media/rtp/datagrams/libc.ts'
import { SingleCalls } from '../../media/rtp/datagrams/message-calls.ts'
import { NativeSocket, Outgoing } from '../../media/rtp/datagrams/native-socket.ts'
import { clockFrom } from './clock.ts'
import type { LedgerMemory } from './ledger.ts'
import type { Descriptors } from './leg-sockets.ts'
import { Speakers, type SpeakingPlan, type Spoken } from './speakers.ts'
import { type FarEnd, Wires } from './wires.ts'

export interface ThreadData {
  plan: SpeakingPlan
  memory: LedgerMemory
  /** `clockOriginMs` of the thread that started this one. */
  originMs: number
  legs: { descriptors: Descriptors; far: FarEnd }[]
}

export type ToThread = { type: 'measure'; from: number; to: number } | { type: 'tell' }
/** The first message says that the thread speaks; the others answer `tell`. */
export type FromThread = Spoken

/** Real-time priority: ahead of the rest of the load, which has none. */
const PRIORITY = 1
/** Interval at which messages are read [ms]. */
const LOOK_MS = 5
/** Instead of a descriptor: only time ends the sleep. */
const NOBODY = -1

/**
 * The thread that sends for all legs. It does nothing else, and sleeps by system calls instead of the event loop's timers: a real phone does not send
 * later because the load has to receive something at that moment. It ends with the thread that started it.
 */
async function speak({ plan, memory, originMs, legs }: ThreadData): Promise<never> {
  const port = parentPort!
  const libc = new Libc()
  const outgoing = new Outgoing((kind, headers) => new SingleCalls(libc, kind, headers))
  const wires = new Wires()
  for (const [leg, { descriptors, far }] of legs.entries()) {
    const [rtp, rtcp] = [descriptors.rtp, descriptors.rtcp].map(fd => new NativeSocket(libc, outgoing, fd, AF_INET))
    wires.connect(leg, far, { sendRtp: rtp!.send.bind(rtp), sendRtcp: rtcp!.send.bind(rtcp) })
  }
  await becomeRealTime(PRIORITY)
  const speakers = new Speakers(plan, memory, wires, clockFrom(originMs))
  port.postMessage(speakers.spoken satisfies FromThread)
  const sleep = libc.sleeper(NOBODY)
  let lookAt = 0
  for (;;) {
    const waitMs = speakers.advance()
    if (waitMs > 0) sleep(Math.min(waitMs, LOOK_MS))
    if (performance.now() < lookAt) continue
    lookAt = performance.now() + LOOK_MS
    const message = receiveMessageOnPort(port)?.message as ToThread | undefined
    if (message?.type === 'measure') speakers.measure(message.from, message.to)
    else if (message?.type === 'tell') port.postMessage(speakers.spoken satisfies FromThread)
  }
}

await speak(workerData as ThreadData)
