type Answer = { command: string; rowCount: number; rows: unknown[] }

/** A query whose answer depends only on its parameters and on tables that it names in quotes, as `WRITES` does, and no trigger writes. */
const PLAIN = /^select (?!.*(?:\w\(|"insight_|\b(?:from|join)\s+[^"\s]))/s
/** Longer lists are read once. */
const MAX_ROWS = 4
/** Their answers are known, unless they fail. */
const UNREAD =
  /^(start transaction isolation level serializable|lock table kysely_migration in row share mode|insert into "\w+" \([^)]*\) values [^a-z]*)$/
/** So many inserts at most are on their way, unanswered. */
const MAX_UNREAD = 64
const WRITES = /^(?:insert into|update) ("\w+")/

/**
 * Saves round trips of the serializable transactions of one connection. Such a transaction sees the same rows until it writes their table: an event of
 * a call asks once for its leg, which it reads a dozen times. Neither its beginning nor an insert is waited for: if it fails, so does what is asked next.
 */
export class Serializable {
  /** Answers so far, by query; null: no such transaction is open, or it has failed. */
  #known: Map<string, Answer> | null = null
  #unread: Promise<unknown>[] = []

  async answer<A extends Answer>(text: string, values: readonly unknown[], ask: () => Promise<A>): Promise<A> {
    if (text.startsWith('start transaction isolation level serializable')) this.#known = new Map()
    const known = this.#known
    if (known === null) return ask()
    const isRead = PLAIN.test(text)
    if (!isRead) this.#known = left(known, text)
    if (this.#unread.length < MAX_UNREAD && UNREAD.test(text)) {
      const asked = ask()
      asked.catch(() => {})
      this.#unread.push(asked)
      return { command: 'INSERT', rowCount: text.split('), (').length, rows: [] as unknown[] } as A
    }
    if (!isRead) return (await this.#read(ask)) as A
    const key = `${text} ${JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`
    const answer = (known.get(key) ?? (await this.#read(ask))) as A
    if (answer.rows.length > MAX_ROWS) return answer
    known.set(key, answer)
    // Whoever reads rows may change them.
    return { ...answer, rows: answer.rows.map(row => ({ ...(row as object) })) }
  }

  async #read(ask: () => Promise<unknown>): Promise<unknown> {
    const outcomes = await Promise.allSettled([...this.#unread.splice(0), ask()])
    // What follows a failure fails because of it.
    const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined
    if (failed === undefined) return (outcomes.at(-1) as PromiseFulfilledResult<unknown>).value
    this.#known = null
    throw failed.reason
  }
}

/** What is still known after a statement; null: the transaction is over. */
function left(known: ReadonlyMap<string, Answer>, text: string): Map<string, Answer> | null {
  const table = WRITES.exec(text)?.[1] ?? ''
  if (/^(commit|rollback)$/.test(text)) return null
  return new Map([...known].filter(([key]) => table !== '' && !key.includes(table)))
}
