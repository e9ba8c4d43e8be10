import { newUlid } from '../protocol/chance.ts'
import type { DialTarget, Failure, Reply, Request } from '../protocol.ts'
import { isOver, type Line, partyOf } from './line.ts'
import type { Lines } from './lines.ts'
import type { Allowed } from './ways.ts'

/** How long control may take to decide which targets may be called [ms]; afterwards, none. */
const DECISION_MS = 4000

interface Asked {
  contacts: readonly string[]
  decide: (allowed: Allowed) => void
  timer: NodeJS.Timeout
}

/** Numbers that far ends want called in the place of theirs (3xx): control is asked, as it is for every number. */
export class Redirects {
  readonly #lines: Pick<Lines, 'emit'>
  readonly #asked = new Map<string, Asked>()

  constructor(lines: Pick<Lines, 'emit'>) {
    this.#lines = lines
  }

  async ask(line: Line, { connectionId }: DialTarget, contacts: readonly string[]): Promise<Allowed> {
    if (isOver(line)) return { to: [], reason: null }
    const redirectId = `redir_${newUlid()}`
    const decided = new Promise<Allowed>(decide => {
      const timer = setTimeout(() => this.#decide(redirectId, { to: [], reason: null }), DECISION_MS)
      this.#asked.set(redirectId, { contacts, decide, timer })
    })
    const { legId } = line
    this.#lines.emit('leg.redirected', {
      ...{ legId, redirectId, to: contacts.map(partyOf), connectionId: connectionId ?? null },
    })
    return decided
  }

  answer({ redirectId, to, reason }: Request<'leg.redirect_answer'>): Reply<'leg.redirect_answer'> | Failure {
    const asked = this.#asked.get(redirectId)
    if (asked === undefined) return { failure: 'not_found', message: `no redirection ${redirectId} is open` }
    this.#decide(redirectId, { to: asked.contacts.filter(uri => to.includes(uri)), reason })
    return {}
  }

  #decide(redirectId: string, allowed: Allowed): void {
    const asked = this.#asked.get(redirectId)
    if (asked === undefined) return
    this.#asked.delete(redirectId)
    clearTimeout(asked.timer)
    asked.decide(allowed)
  }
}
