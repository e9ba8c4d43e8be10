import { seeded } from '../../bench/seeded.ts'
import type { InviteRequest, UaEvent } from '../../sip/user-agent.ts'
import { Random } from '../fuzz/random.ts'
import { body, Party, Pipe } from './pipe.ts'

/** Number of calls at a time, in each direction. */
const CALLS = 20
/** Maximum number of earlier messages that may be sent again, changed or not. */
const MAX_OVERHEARD = 400
/** Longer than any timer of a call: session timers, or a REFER whose end is never reported. */
const UNTIL_QUIET_MS = 4_000_000
const METHODS = [
  'INVITE',
  'ACK',
  'BYE',
  'CANCEL',
  'PRACK',
  'UPDATE',
  'INFO',
  'REFER',
  'NOTIFY',
  'OPTIONS',
  'REGISTER',
  'SUBSCRIBE',
  'MESSAGE',
  'X',
]

/** The state that a user agent still holds. */
interface Left {
  sessions: number
  transactions: number
  deadline: number | null
}

/**
 * Two user agents that call each other, on a virtual clock, over a network that changes, loses, duplicates and invents messages. The same seed gives
 * the same run.
 */
export class FuzzedNight {
  /** Number of messages that reached a user agent. */
  messages = 0
  /** Sessions without an end, or with two. */
  readonly wrong: string[] = []
  readonly parties: readonly [Party, Party]
  readonly #pipe = new Pipe()
  readonly #mischief: Random
  readonly #dice: () => number
  #overheard: Buffer[] = []
  #calls = 0

  constructor(seed: number) {
    this.#mischief = new Random(seed)
    this.#dice = seeded(seed)
    this.parties = [
      new Party(this.#pipe, '192.0.2.1', { sessionExpiresS: 90, registrarRealm: 'tandem' }),
      new Party(this.#pipe, '192.0.2.2', { registrarRealm: 'tandem' }),
    ]
    for (const party of this.parties) this.#behave(party)
    this.#pipe.lose = () => this.#dice() < 0.05
    this.#pipe.jitterMs = () => this.#dice() * 300
    this.#pipe.alter = text => this.#onItsWay(text)
  }

  #onItsWay(text: string): string {
    this.messages++
    this.#overhear(text)
    if (!this.#mischief.chance(0.3)) return text
    return this.#mischief.mutate(Buffer.from(text, 'latin1')).toString('latin1')
  }

  #overhear(text: string): void {
    const bytes = Buffer.from(text, 'latin1')
    if (this.#overheard.length < MAX_OVERHEARD) this.#overheard.push(bytes)
    else this.#overheard[this.#mischief.int(MAX_OVERHEARD)] = bytes
  }

  /** Lets a user agent do anything that a caller may do, at random. */
  #behave(party: Party): void {
    const dice = this.#dice
    const now = () => this.#pipe.now
    party.onRegister = ({ registerId }) => {
      const { isRight, actions } = party.agent.checkRegister(registerId, dice() < 0.5 ? '0'.repeat(32) : null, now())
      party.do(actions)
      if (isRight === true) {
        const reply = { status: 200, contacts: [], minExpiresS: null, retryAfterS: null }
        party.do(party.agent.answerRegister(registerId, reply, now()))
      }
    }
    party.onEvent = event => this.#on(party, event)
  }

  #on(party: Party, event: UaEvent): void {
    const { agent } = party
    const dice = this.#dice
    const { now } = this.#pipe
    const { sessionId } = event
    switch (event.kind) {
      case 'incoming':
        if (dice() < 0.6) {
          const early = dice() < 0.5 ? body('early') : null
          party.do(agent.provisional(sessionId, early === null ? 180 : 183, early, now))
        }
        if (dice() < 0.15) party.do(agent.reject(sessionId, 486, now))
        else party.do(agent.accept(sessionId, body('answer'), now))
        break
      case 'prack':
        if (event.isOffer) party.do(agent.answerPrack(sessionId, dice() < 0.8 ? body('answer') : null, now))
        break
      case 'provisional':
        if (event.isOffer) party.do(agent.acknowledgeEarly(sessionId, body('answer'), now))
        break
      case 'reinvite':
        if (dice() < 0.2) party.do(agent.rejectReinvite(sessionId, 488, now))
        else party.do(agent.acceptReinvite(sessionId, body('again'), now))
        break
      case 'answered':
      case 'reinviteAnswered':
        party.do(agent.acknowledge(sessionId, body('late'), now))
        break
      case 'refer':
        party.do(agent.answerRefer(event.referId, dice() < 0.7 ? 202 : 603, now))
        for (const status of [100, 180, 200]) party.do(agent.notifyRefer(event.referId, status, now))
        break
      default:
    }
  }

  /** Runs some calls in each direction, with random actions in them, until nothing of them is left. */
  round(): void {
    const sessions: { party: Party; id: string }[] = []
    for (let n = 0; n < CALLS; n++) for (const party of this.parties) sessions.push(this.#call(party))
    for (let step = 0; step < 4 * CALLS; step++) {
      this.#pipe.run(this.#pipe.now + this.#dice() * 1500)
      this.#mischief.chance(0.6) ? this.#act(this.#mischief.pick(sessions)) : this.#intrude()
    }
    for (const { party, id } of sessions) party.do(party.agent.bye(id, this.#pipe.now))
    for (const party of this.parties) {
      const open = new Set(party.events.map(({ sessionId }) => sessionId))
      for (const id of open) party.do(party.agent.bye(id, this.#pipe.now))
    }
    this.#pipe.run(this.#pipe.now + UNTIL_QUIET_MS)
    for (const party of this.parties) this.#judge(party)
  }

  #call(party: Party): { party: Party; id: string } {
    const other = this.parties.find(one => one !== party)!
    const request: InviteRequest = {
      to: `sip:fuzz${++this.#calls}@${other.peer.host}`,
      from: `sip:caller@${party.peer.host}`,
      ...(this.#dice() < 0.7 ? { body: body('offer') } : {}),
      ...(this.#dice() < 0.3 ? { withoutReliable: true } : {}),
    }
    const { sessionId, actions } = party.agent.invite(request, this.#pipe.now)
    party.do(actions)
    return { party, id: sessionId }
  }

  #act({ party, id }: { party: Party; id: string }): void {
    const { agent } = party
    const { now } = this.#pipe
    const dice = this.#mischief.int(7)
    if (dice < 2) party.do(agent.reinvite(id, dice === 0 ? body('hold') : null, now))
    else if (dice === 2)
      party.do(agent.info(id, 'application/dtmf-relay', Buffer.from('Signal=1\r\nDuration=100'), now))
    else if (dice === 3) party.do(agent.bye(id, now))
    else if (dice === 4)
      party.do(agent.refer(id, { to: 'sip:elsewhere@192.0.2.9', replaces: null, referredBy: null }, now).actions)
    else if (dice === 5) party.do(agent.cancel(id, now))
    else party.do(agent.withdrawReinvite(id))
  }

  /** An eavesdropper sends an earlier message again, changed, or with another method. */
  #intrude(): void {
    const { now } = this.#pipe
    for (const party of this.parties) {
      const heard = this.#mischief.pick(this.#overheard)
      const method = this.#mischief.pick(METHODS)
      const text = heard.toString('latin1')
      const other = text.replace(/^[A-Z]+ sip/, `${method} sip`).replace(/^(CSeq: \d+) \w+/m, `$1 ${method}`)
      const bytes = this.#mischief.chance(0.5) ? Buffer.from(other, 'latin1') : this.#mischief.mutate(heard)
      this.messages++
      party.do(party.agent.receive(bytes, this.parties.find(one => one !== party)!.peer, now))
    }
  }

  /** Checks that each session that began has ended once, and clears the logs. */
  #judge(party: Party): void {
    const ends = new Map<string, number>()
    for (const { kind, sessionId } of party.events) {
      ends.set(sessionId, (ends.get(sessionId) ?? 0) + (kind === 'ended' || kind === 'rejected' ? 1 : 0))
    }
    for (const [id, count] of ends) {
      const kinds = party.events.filter(({ sessionId }) => sessionId === id).map(({ kind }) => kind)
      if (count !== 1) this.wrong.push(`${party.peer.host}: ${kinds}`)
    }
    for (const log of [party.events, party.sent, party.registers, party.waiting]) log.length = 0
  }

  /** The state that both user agents still hold. */
  left(): Left[] {
    return this.parties.map(({ agent }) => ({
      sessions: agent.sessionCount,
      transactions: agent.transactionCount,
      deadline: agent.nextDeadline(),
    }))
  }
}
