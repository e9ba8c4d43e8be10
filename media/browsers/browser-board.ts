import type { Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { WebSocket } from 'ws'
import type { CreateResampler } from '../../codecs/resample.ts'
import type { Threads } from '../engine/threads/threads.ts'
import { atMost } from '../protocol/at-most.ts'
import {
  type BrowserTarget,
  type EndedReason,
  type EventName,
  type Events,
  type Failure,
  isFailure,
  type LegSnapshot,
  type MediaEvent,
  type Reply,
  type Request,
} from '../protocol.ts'
import { NO_QUALITY } from '../rooms/leg.ts'
import { KEY_MS } from '../rtp/key-sender.ts'
import { type Browser, type BrowserLine, newBrowser, snapshotOf } from './browser.ts'
import { BrowserAudio } from './browser-audio.ts'
import { controlMessage, type PageMessage, parsePageMessage, ringMessage, ringStopMessage } from './browser-messages.ts'
import { BrowserSocket } from './browser-socket.ts'
import { KeptCalls } from './kept-calls.ts'
import { BACK, LentPages } from './lent-pages.ts'
import type { AskedPage, PageLinks } from './page-links.ts'
import type { PageWays } from './page-ways.ts'

/** How often audio is carried between sockets and rings while a browser is in a call [ms]. */
const PUMP_MS = 10
/** How long control may take to answer the leg of a page that it has admitted [ms]. */
const DECISION_MS = 4000
const NORMAL = 1000
const GOING_AWAY = 1001
const POLICY = 1008
/** Nothing was said at the end: the network is gone, or the machine. */
const ABNORMAL = 1006
const INTERNAL = 1011
/** A refused leg closes with this and the SIP code. */
const REFUSED = 4000

/** Legs that are over and whose IDs are known still: none of them rings again. */
const MAX_RECENT = 10_000

interface BrowserBoardOptions {
  threads: Pick<Threads, 'place'>
  emit: (event: MediaEvent) => void
  /** Something threw, and this leg is ended for it. */
  fault: (error: unknown, legId: string) => void
  createResampler: CreateResampler
  /** Absent: audio goes over WebSockets alone. */
  ways?: Pick<PageWays, 'answer'>
  /** Absent: pages of other nodes are out of reach. */
  links?: Pick<PageLinks, 'open' | 'tell'>
  /** Monotonic [ms]. */
  now: () => number
  /** How long the running call of a softphone that is gone is kept, if not as long as usual [ms]. */
  graceMs?: number
}

/** An upgrade that waits for control's word. */
export interface Doors {
  admit(
    browserId: string,
    use: (ws: WebSocket, socket: Socket, format: Browser['format'], at: Browser['at']) => void,
  ): boolean
  refuse(browserId: string, status: number, body: object): boolean
}

/**
 * The counterpart of the switchboard for SIP: joins the pages on the call WebSocket with the engine threads. Exactly one
 * `leg.ended` follows each `browser.admit` or `leg.dial`, whatever happens.
 */
export class BrowserBoard {
  readonly lines = new Map<string, BrowserLine>()
  /** Handlers that threw; each ended its leg. */
  faults = 0
  readonly #options: BrowserBoardOptions
  /** What pages and calls had counted that are over. */
  readonly #past = { messagesRefused: 0, framesRefused: 0, framesDropped: 0, lentFramesDropped: 0 }
  readonly #over = new LRUCache<string, true>(atMost(MAX_RECENT))
  /** By ID, or for a page of another node by its link. */
  readonly #browsers = new Map<string, Browser>()
  readonly #kept: KeptCalls
  readonly #lent: LentPages
  /** Legs whose pages other nodes are asked for. */
  readonly #asking = new Set<string>()
  #doors!: Doors
  #pump: NodeJS.Timeout | undefined

  constructor(options: BrowserBoardOptions) {
    this.#options = options
    this.#kept = new KeptCalls((line, reason) => void this.#finish(line, reason, null), options.graceMs)
    this.#lent = new LentPages(this.#past, options.graceMs)
  }

  /** The server needs the board's room to exist, so it comes second. */
  attach(doors: Doors): void {
    this.#doors = doors
  }

  /** Since the start, with what pages and calls have counted that are there. */
  get counters(): Readonly<
    Record<'messagesRefused' | 'framesRefused' | 'framesDropped' | 'lentFramesDropped', number>
  > {
    const all = { ...this.#past }
    for (const { socket } of this.#browsers.values()) all.messagesRefused += socket.refused
    for (const { audio, state } of this.lines.values()) {
      if (audio === null || state === 'ended') continue
      all.framesRefused += audio.page.refused
      all.framesDropped += audio.page.dropped + audio.framesDropped
    }
    return all
  }

  get browserIds(): string[] {
    return [...this.#browsers.values()].filter(({ isElsewhere }) => !isElsewhere).map(({ id }) => id)
  }

  // ------------------------------------------------------------------ pages

  admit({ browserId, as, legId, accountSid, phone }: Request<'browser.admit'>): Reply<'browser.admit'> | Failure {
    if ((as === 'call') !== (legId !== null))
      return { failure: 'invalid', message: 'a call has a leg, a phone has none' }
    if (legId !== null && this.lines.has(legId)) return conflict('a leg with this ID exists')
    const isOpen = this.#doors.admit(browserId, (ws, socket, format, at) => {
      const browser = newBrowser(
        { id: browserId, as, accountSid, format, phone, at },
        this.#socketOf(browserId, ws, socket),
      )
      this.#browsers.set(browserId, browser)
      this.#emit('browser.connected', { browserId, goesOn: this.#goOn(browser) })
      if (legId !== null) this.#expectAnswer(this.#newLine(browser, { legId, direction: 'inbound', state: 'incoming' }))
    })
    return isOpen ? {} : gone(browserId)
  }

  /** A softphone that is back replaces the connection that it had, missed or not, and is in the call that it was in: its leg. */
  #goOn(page: Browser): string | null {
    const { phone } = page
    if (phone === null) return null
    const isBefore = (one: Browser): boolean =>
      one !== page && one.phone?.device === phone.device && one.phone.agent === phone.agent
    const predecessor = [...this.#browsers.values()].find(isBefore) ?? null
    const line = this.#kept.of(page, predecessor)
    if (line !== null) this.#kept.takeUp(line, page, this.#options.now())
    const legId = line?.legId ?? this.#lent.goesOn(page)
    predecessor?.socket.close(NORMAL, 'replaced')
    return legId
  }

  /** Lets the page be rung by another node, over a link of that. A status: why not. */
  lend({ browserId, legId }: AskedPage): ((link: WebSocket) => void) | number {
    const page = this.#browsers.get(browserId)
    if (page === undefined || page.as !== 'phone' || page.isElsewhere) return 404
    if (legId === null) return link => this.#tellOver(link, page)
    return this.#isBusy(page) ? 409 : link => this.#lent.lend(page, legId, link)
  }

  /** Another node tells the page something outside of its calls. */
  #tellOver(link: WebSocket, page: Browser): void {
    link.send('{}')
    link.on('error', () => {})
    link.on('message', data => {
      const isThere = this.#browsers.get(page.id) === page && page.socket.send(data as Buffer)
      if (!isThere) link.close(NORMAL)
    })
  }

  #isBusy(page: Browser): boolean {
    return page.line !== null || this.#lent.legOf(page) !== null
  }

  refuse({ browserId, status, body }: Request<'browser.refuse'>): Reply<'browser.refuse'> | Failure {
    return this.#doors.refuse(browserId, status, body) ? {} : gone(browserId)
  }

  close({ browserId, code, reason }: Request<'browser.close'>): Reply<'browser.close'> | Failure {
    const browser = this.#browsers.get(browserId)
    if (browser === undefined) return gone(browserId)
    if (browser.line !== null) void this.#finish(browser.line, 'api_hangup', null)
    browser.socket.close(code, reason)
    return {}
  }

  async send({ browserId, node, body }: Request<'browser.send'>): Promise<Reply<'browser.send'> | Failure> {
    if (node !== undefined) {
      const isTold = await this.#options.links?.tell(node, browserId, controlMessage(body))
      return isTold === true ? {} : gone(browserId)
    }
    const browser = this.#browsers.get(browserId)
    return browser?.socket.send(controlMessage(body)) === true ? {} : gone(browserId)
  }

  /** Goodbye to all: the process ends. */
  closeAll(): void {
    for (const { socket } of this.#browsers.values()) socket.close(GOING_AWAY, 'restarting')
  }

  #socketOf(key: string, ws: WebSocket, socket: Socket): BrowserSocket {
    const audio = (): BrowserAudio | null => this.#browsers.get(key)?.line?.audio ?? null
    return new BrowserSocket(
      ws,
      socket,
      {
        text: text => this.#said(key, text),
        pong: (ping, roundTripMs) => audio()?.pong(ping, roundTripMs),
        drained: () => audio()?.drained(),
        closed: code => this.#closed(key, code),
      },
      this.#options.now,
    )
  }

  #closed(key: string, code: number): void {
    const browser = this.#browsers.get(key)
    if (browser === undefined) return
    this.#browsers.delete(key)
    const reason = code === ABNORMAL ? 'rtp_timeout' : 'caller_hangup'
    const { line } = browser
    if (line !== null && !this.#kept.keep(line, code, reason)) void this.#finish(line, reason, null)
    this.#lent.left(browser, code)
    this.#past.messagesRefused += browser.socket.refused
    if (!browser.isElsewhere) this.#emit('browser.closed', { browserId: browser.id, forGood: code === NORMAL })
  }

  #said(key: string, text: string): void {
    const browser = this.#browsers.get(key)
    if (browser === undefined) return
    try {
      this.#read(browser, text)
    } catch (error) {
      this.#broke(browser.line, error)
    }
  }

  /** A fault ends the one call that it belongs to. */
  #broke(line: BrowserLine | null, error: unknown): void {
    this.faults++
    this.#options.fault(error, line?.legId ?? '')
    if (line !== null) void this.#finish(line, 'internal_error', null)
  }

  #read(browser: Browser, text: string): void {
    if (!browser.messages.allow(this.#options.now())) {
      this.#past.messagesRefused++
      if (browser.messages.refused > browser.patience) browser.socket.close(POLICY, 'too many messages')
      return
    }
    const { line, isElsewhere } = browser
    if (isElsewhere && text === BACK) {
      line?.audio?.detach()
      if (line !== null) this.#kept.takeUp(line, browser, this.#options.now())
      return
    }
    const lentTo = this.#lent.legOf(browser)
    const message = parsePageMessage(text, line?.legId ?? lentTo)
    if (message !== null && message.event !== 'control' && lentTo !== null) this.#lent.said(browser, message, text)
    else if (message === null || !this.#act(browser, message)) this.#past.messagesRefused++
  }

  /** False: it makes no sense now. */
  #act(browser: Browser, message: PageMessage): boolean {
    if (message.event === 'control') {
      if (!browser.wishes.allow(this.#options.now())) return false
      this.#emit('browser.message', { browserId: browser.id, body: message.body })
      return true
    }
    const { line } = browser
    if (line === null) return false
    if (message.event === 'stop') {
      void this.#finish(line, line.state === 'answered' ? 'caller_hangup' : 'rejected', null)
      return true
    }
    if (message.event === 'accept') {
      if (line.state !== 'ringing') return false
      this.#connect(line).catch(error => this.#broke(line, error))
      return true
    }
    const { audio } = line
    if (audio === null || line.state !== 'answered') return false
    switch (message.event) {
      case 'webrtc':
        this.#options.ways?.answer(line, message.sdp).catch(error => this.#broke(line, error))
        return this.#options.ways !== undefined
      case 'media':
        audio.page.media(message.payload, message.timestampMs, this.#options.now())
        return true
      case 'mark':
        audio.page.mark(message.name)
        return true
      case 'clear':
        audio.answerMarks(audio.page.clear())
        return true
      case 'dtmf':
        void line.engine?.request('leg.key', {
          legId: line.legId,
          key: message.digit,
          source: 'info',
          durationMs: KEY_MS,
        })
        return true
    }
  }

  // ------------------------------------------------------------------ legs

  #newLine(browser: Browser, known: Pick<BrowserLine, 'legId' | 'direction' | 'state'>): BrowserLine {
    const line: BrowserLine = {
      ...known,
      browser,
      engine: null,
      room: null,
      affinity: '',
      near: null,
      audio: null,
      timer: undefined,
      info: {},
      held: false,
      answeredMs: null,
      ending: null,
    }
    browser.line = line
    this.lines.set(line.legId, line)
    return line
  }

  #expectAnswer(line: BrowserLine): void {
    line.timer = setTimeout(() => void this.#finish(line, 'capacity', 503), DECISION_MS)
  }

  async answer(request: Request<'leg.answer'>): Promise<LegSnapshot | Failure> {
    const line = this.lines.get(request.legId)
    if (line === undefined || line.state === 'ended') return noLeg(request.legId)
    if (line.state !== 'incoming' || line.engine !== null) return conflict('the leg is answered already')
    line.room = request.room
    line.affinity = request.affinity
    line.near = request.near ?? null
    const connected = await this.#connect(line)
    return isFailure(connected) ? connected : this.#snapshot(line)
  }

  reject({ legId, sipCode, reason }: Request<'leg.reject'>): Reply<'leg.reject'> | Failure {
    const line = this.lines.get(legId)
    if (line === undefined || line.state === 'ended') return noLeg(legId)
    if (line.state !== 'incoming') return conflict('the leg is answered already')
    void this.#finish(line, reason, sipCode)
    return {}
  }

  /** Rings at a softphone; one that is in a call is busy. */
  async dial(request: Omit<Request<'leg.dial'>, 'target'> & { target: BrowserTarget }): Promise<LegSnapshot | Failure> {
    const { legId, target, room, affinity, near = null, timeoutS, sound } = request
    // A repeated request means that the reply was lost: nobody is called twice.
    if (this.lines.has(legId) || this.#over.has(legId) || this.#asking.has(legId))
      return conflict('the leg was dialled before')
    const browser = target.node === undefined ? this.#browsers.get(target.browserId) : await this.#borrow(target, legId)
    if (browser === 'busy') return this.#busy({ id: target.browserId }, legId)
    if (browser === undefined || browser.as !== 'phone') return gone(target.browserId)
    if (this.#isBusy(browser)) return this.#busy(browser, legId)
    const line = this.#newLine(browser, { legId, direction: 'outbound', state: 'ringing' })
    line.room = room
    line.affinity = affinity
    if (sound !== undefined) line.sound = sound
    line.near = near
    line.info = target.info ?? {}
    line.timer = setTimeout(() => void this.#finish(line, 'no_answer', null), timeoutS * 1000)
    browser.socket.send(ringMessage(legId, target.info ?? {}))
    queueMicrotask(() => this.#emit('leg.ringing', { legId }))
    return this.#snapshot(line)
  }

  /** A page that is connected to another node, as if it was here. Undefined: it is not there. */
  async #borrow({ browserId, node = '' }: BrowserTarget, legId: string): Promise<Browser | 'busy' | undefined> {
    this.#asking.add(legId)
    const linked = (await this.#options.links?.open(node, { browserId, legId })) ?? 'gone'
    this.#asking.delete(legId)
    if (linked === 'busy') return linked
    if (linked === 'gone') return undefined
    const { ws, socket, facts } = linked
    const known = { id: browserId, as: 'phone' as const, ...facts, isElsewhere: true }
    // A link is of one call: that of the page's last one may still be closing.
    const key = `${browserId} ${legId}`
    const browser = newBrowser(known, this.#socketOf(key, ws, socket))
    this.#browsers.set(key, browser)
    return browser
  }

  /** The same story as of a phone that answers 486. */
  #busy(browser: Pick<Browser, 'id'>, legId: string): LegSnapshot {
    this.#over.set(legId, true)
    queueMicrotask(() => this.#emit('leg.ended', { legId, reason: 'busy', sipCode: 486, quality: NO_QUALITY }))
    return snapshotOf({ legId, browser, direction: 'outbound', state: 'ended' }, null)
  }

  /** The reply follows the event that reports the end. */
  async hangup({ legId, reason }: Request<'leg.hangup'>): Promise<Reply<'leg.hangup'> | Failure> {
    const line = this.lines.get(legId)
    const isLate = line?.state === 'ended'
    if (line !== undefined) await this.#finish(line, reason, null)
    return line === undefined || isLate ? noLeg(legId) : {}
  }

  /** The page hears the same as its leg. */
  hold(legId: string, held: boolean): void {
    const line = this.lines.get(legId)
    if (line === undefined) return
    line.held = held
    line.browser.socket.send(controlMessage({ type: 'on_hold', held }))
  }

  hangupAll(reason: EndedReason): void {
    for (const legId of this.lines.keys()) void this.hangup({ legId, reason })
  }

  async read(legIds: Iterable<string>): Promise<LegSnapshot[]> {
    const lines = [...legIds].map(legId => this.lines.get(legId)).filter(line => line !== undefined)
    return Promise.all(lines.map(line => this.#snapshot(line)))
  }

  /** A key of another party, for the page of this leg. */
  sendKey(legId: string, key: string, _durationMs: number): void {
    this.lines.get(legId)?.audio?.key(key)
  }

  /** Starts the audio of a leg in the room that waits for it. */
  async #connect(line: BrowserLine): Promise<object | Failure> {
    const { legId, browser, room } = line
    if (room === null) return noLeg(legId)
    clearTimeout(line.timer)
    line.state = 'answered'
    const engine = this.#options.threads.place(line.near)
    line.engine = engine
    const { accountSid, format } = browser
    const identity = {
      streamId: legId,
      accountSid,
      callSid: room.roomId,
      tracks: 'outbound' as const,
      format,
      customParameters: {},
    }
    const { createResampler, now } = this.#options
    const audio = new BrowserAudio(browser.socket, { identity, createResampler, now })
    line.audio = audio
    const { affinity, sound } = line
    const asked = { legId, pipe: audio.pipe, affinity, ...(sound && { sound }) }
    const opened = await engine.request('leg.open_browser', asked)
    if (isFailure(opened)) return this.#failed(line, opened)
    if (this.#isOver(line)) return noLeg(legId)
    audio.start()
    line.answeredMs = this.#options.now()
    this.#emit('leg.answered', { legId })
    this.#startPump()
    const connected = await engine.request('leg.connect', { legId, media: null, enter: room })
    return isFailure(connected) ? this.#failed(line, connected) : connected
  }

  #failed(line: BrowserLine, failure: Failure): Failure {
    void this.#finish(line, failure.failure === 'capacity' ? 'capacity' : 'internal_error', null)
    return failure
  }

  #isOver(line: BrowserLine): boolean {
    return line.state === 'ended'
  }

  #startPump(): void {
    this.#pump ??= setTimeout(() => {
      this.#pump = undefined
      let isNeeded = false
      for (const line of this.lines.values()) {
        const { audio, state } = line
        if (audio === null || state !== 'answered') continue
        try {
          audio.pump()
        } catch (error) {
          this.#broke(line, error)
        }
        isNeeded = true
      }
      if (isNeeded) this.#startPump()
    }, PUMP_MS)
  }

  async #snapshot(line: BrowserLine): Promise<LegSnapshot> {
    const reply = line.engine === null ? null : await line.engine.request('leg.read', { legId: line.legId })
    return snapshotOf(line, reply === null || isFailure(reply) ? null : reply)
  }

  // ------------------------------------------------------------------ the end

  #finish(line: BrowserLine, reason: EndedReason, sipCode: number | null): Promise<void> {
    line.ending ??= this.#end(line, reason, sipCode)
    return line.ending
  }

  async #end(line: BrowserLine, reason: EndedReason, sipCode: number | null): Promise<void> {
    const { browser, audio, engine, legId } = line
    const endedMs = this.#options.now()
    line.state = 'ended'
    this.#over.set(legId, true)
    clearTimeout(line.timer)
    this.#kept.forget(line)
    if (browser.line === line) browser.line = null
    if (audio === null) browser.socket.send(ringStopMessage(legId, reason))
    else {
      this.#past.framesRefused += audio.page.refused
      this.#past.framesDropped += audio.page.dropped + audio.framesDropped
      browser.socket.send(controlMessage({ type: 'ended', reason }))
      audio.close()
    }
    if (browser.as === 'call') browser.socket.close(closeCode(reason, sipCode), reason)
    else if (browser.isElsewhere) browser.socket.close(NORMAL)
    const closed = engine === null ? null : await engine.request('leg.close', { legId })
    this.lines.delete(legId)
    const { quality, others } =
      closed === null || isFailure(closed) ? { quality: NO_QUALITY, others: undefined } : closed
    const { answeredMs } = line
    const measured = answeredMs === null ? {} : { durationMs: Math.round(endedMs - answeredMs) }
    this.#emit('leg.ended', { legId, reason, sipCode, quality, ...(others && { others }), ...measured })
  }

  #emit<N extends EventName>(name: N, body: Events[N]): void {
    this.#options.emit({ name, at: new Date().toISOString(), body } as MediaEvent)
  }
}

const closeCode = (reason: EndedReason, sipCode: number | null): number =>
  sipCode !== null ? REFUSED + sipCode : reason === 'internal_error' ? INTERNAL : NORMAL

const gone = (browserId: string): Failure => ({ failure: 'not_found', message: `no browser ${browserId}` })
const noLeg = (legId: string): Failure => ({ failure: 'not_found', message: `no leg ${legId}` })
const conflict = (message: string): Failure => ({ failure: 'conflict', message })
