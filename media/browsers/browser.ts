import type { EngineThread } from '../engine/engine-client.ts'
import type { EngineLeg } from '../engine/engine-protocol.ts'
import type { LegSnapshot, LegSound, PhoneIdentity, RoomSpec, SipParty, StreamFormat } from '../protocol.ts'
import { RateLimit } from '../protocol.ts'
import { NO_AUDIO } from '../signalling/line.ts'
import type { BrowserAudio } from './browser-audio.ts'
import type { BrowserSocket } from './browser-socket.ts'

/** Messages of a page: live audio is 50 a second, a bot sends whole sentences at once. */
const MESSAGES = { burst: 3000, perSecond: 300 }
/** Messages beyond that are dropped; after so many of them the page is closed. */
const PATIENCE = 10_000
/** Each offer of WebRTC opens sockets. */
const OFFERS = { burst: 5, perSecond: 0.2 }
const WISHES = { burst: 20, perSecond: 5 }

/** A page on the call WebSocket. */
export interface Browser {
  readonly id: string
  /** A `phone` waits for calls and has one at a time; a `call` is one. */
  readonly as: 'phone' | 'call'
  readonly accountSid: string
  /** Null: a `call`. */
  readonly phone: PhoneIdentity | null
  readonly format: Extract<StreamFormat, 'mulaw_8000' | 'l16_16000'>
  readonly socket: BrowserSocket
  readonly messages: RateLimit
  /** `control` messages. */
  readonly wishes: RateLimit
  readonly patience: number
  /** Offers of WebRTC. */
  readonly offers: RateLimit
  /** Its address, and which of ours it reached. */
  readonly at: { host: string; local?: string }
  /** It is connected to another node, which tells its own control of it. */
  readonly isElsewhere: boolean
  line: BrowserLine | null
}

/** The signalling half of a browser's leg. */
export interface BrowserLine {
  readonly legId: string
  /** Another one when it came back. */
  browser: Browser
  readonly direction: 'inbound' | 'outbound'
  state: LegSnapshot['state']
  /** The thread of its audio, once it has some. */
  engine: EngineThread | null
  /** The room that it enters when it is answered. */
  room: RoomSpec | null
  affinity: string
  near: string | null
  /** Audio settings that follow it everywhere. Absent: none. */
  sound?: LegSound
  audio: BrowserAudio | null
  timer: NodeJS.Timeout | undefined
  /** Data from control that the page shows. */
  info: object
  held: boolean
  /** When its answer was told, on the monotonic clock [ms]; null: it never was. */
  answeredMs: number | null
  /** Resolves once its end is reported; null: it has not ended. */
  ending: Promise<void> | null
}

export const newBrowser = (
  known: Pick<Browser, 'id' | 'as' | 'accountSid' | 'format' | 'phone' | 'at'> & { isElsewhere?: boolean },
  socket: BrowserSocket,
): Browser => ({
  isElsewhere: false,
  ...known,
  socket,
  messages: new RateLimit(MESSAGES),
  wishes: new RateLimit(WISHES),
  patience: PATIENCE,
  offers: new RateLimit(OFFERS),
  line: null,
})

const party = (browserId: string): SipParty => ({
  uri: `browser:${browserId}`,
  user: browserId,
  host: '',
})
const US: SipParty = { uri: '', user: '', host: '' }

/** `audio`: what the engine says of the leg, once it has it. */
export function snapshotOf(
  line: Pick<BrowserLine, 'legId' | 'direction' | 'state'> & { browser: Pick<Browser, 'id'> },
  audio: EngineLeg | null,
): LegSnapshot {
  const { legId, browser, direction, state } = line
  const page = party(browser.id)
  return {
    ...NO_AUDIO,
    ...audio,
    legId,
    direction,
    state,
    to: direction === 'inbound' ? US : page,
  }
}
