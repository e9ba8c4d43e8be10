/** Interval of the lines about what is refused for one reason [ms]. */
const SAY_EVERY_MS = 10_000
/** Sources that are counted in an interval, and those of them that its line names: who is refused most. */
const MAX_SOURCES = 100
const NAMED = 5
/** Reasons that are in order, and no warning. */
const IN_ORDER: ReadonlySet<string> = new Set(['draining'])

interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

type Later = (run: () => void, afterMs: number) => unknown

const LATER: Later = (run, afterMs) => setTimeout(run, afterMs).unref()

/** Refusals since the last line. */
interface Unsaid {
  count: number
  sources: Map<string, number>
}

/**
 * Tells the operator who is refused and why, with few lines however many are: of each reason the first at once, then one line in each
 * interval with the number of others and the sources of most of them.
 */
export class RefusalLog {
  readonly #log: Log
  readonly #what: string
  readonly #later: Later
  readonly #unsaid = new Map<string, Unsaid>()

  /** @param what is refused, such as `call` */
  constructor(log: Log, what: string, later = LATER) {
    this.#log = log
    this.#what = what
    this.#later = later
  }

  /** @param reason one of a few words; @param more asked for only where the refusal has a line of its own */
  note(reason: string, source: string, more: () => object): void {
    const unsaid = this.#unsaid.get(reason)
    if (unsaid === undefined) {
      this.#begin(reason)
      this.#tell({ reason, source, ...more() }, `a ${this.#what} was refused`)
      return
    }
    const { sources } = unsaid
    unsaid.count++
    const before = sources.get(source) ?? 0
    if (before > 0 || sources.size < MAX_SOURCES) sources.set(source, before + 1)
  }

  #begin(reason: string): void {
    this.#unsaid.set(reason, { count: 0, sources: new Map() })
    this.#later(() => this.#say(reason), SAY_EVERY_MS)
  }

  #say(reason: string): void {
    const { count, sources } = this.#unsaid.get(reason)!
    this.#unsaid.delete(reason)
    if (count === 0) return
    this.#begin(reason)
    const most = [...sources].sort(([, a], [, b]) => b - a).slice(0, NAMED)
    const fields = { reason, count, seconds: SAY_EVERY_MS / 1000, sources: Object.fromEntries(most) }
    this.#tell(fields, `${this.#what}s were refused`)
  }

  #tell(fields: { reason: string; [field: string]: unknown }, message: string): void {
    if (IN_ORDER.has(fields.reason)) this.#log.info(fields, message)
    else this.#log.warn(fields, message)
  }
}
