import { lookup, type NaptrRecord, Resolver, type SrvRecord } from 'node:dns'
import { LRUCache } from 'lru-cache'
import { atMost } from '../protocol/at-most.ts'

/** Names whose answers are kept. */
const MAX_NAMES = 2000
/** How long an answer is cached [ms]. While name servers do not answer, the last one is used, however old. */
const FRESH_MS = 30_000
/** A name server that does not answer is asked again after this [ms]. */
const ANSWER_MS = 2000

/** DNS lookups as RFC 3263 needs them. Lists are empty if there is nothing; nothing rejects. */
export interface NameService {
  naptr(name: string): Promise<readonly NaptrRecord[]>
  srv(name: string): Promise<readonly SrvRecord[]>
  /** Addresses of both families, in the order to try them (RFC 6724). */
  addresses(name: string): Promise<readonly string[]>
}

/** The records of the name servers that are given; absent, of the machine's own, and its hosts file's addresses with them. */
export class Names implements NameService {
  readonly #resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 })
  readonly #naptr = kept<readonly NaptrRecord[]>()
  readonly #srv = kept<readonly SrvRecord[]>()
  readonly #addresses = kept<readonly string[]>()
  readonly #isOwn: boolean

  /** @param servers `address` or `address:port`; empty: the machine's own */
  constructor(servers: readonly string[] = []) {
    this.#isOwn = servers.length === 0
    if (servers.length > 0) this.#resolver.setServers([...servers])
  }

  naptr(name: string): Promise<readonly NaptrRecord[]> {
    return this.#naptr(name, () => answer(done => this.#resolver.resolveNaptr(name, done)))
  }

  srv(name: string): Promise<readonly SrvRecord[]> {
    return this.#srv(name, () => answer(done => this.#resolver.resolveSrv(name, done)))
  }

  addresses(name: string): Promise<readonly string[]> {
    return this.#addresses(name, () => (this.#isOwn ? systemAddresses(name) : this.#asked(name)))
  }

  async #asked(name: string): Promise<readonly string[]> {
    const asked = await Promise.allSettled([
      answer<string>(done => this.#resolver.resolve6(name, done)),
      answer<string>(done => this.#resolver.resolve4(name, done)),
    ])
    const found = asked.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
    // A server that fails for one family may know the other.
    if (found.length === 0) for (const one of asked) if (one.status === 'rejected') throw one.reason
    return found
  }
}

const systemAddresses = (name: string): Promise<readonly string[]> =>
  answer(done =>
    lookup(name, { all: true, verbatim: true }, (error, found) =>
      done(error, found?.map(({ address }) => address) ?? []),
    ),
  )

/** That a name has no such records is an answer, too. */
const NONE = new Set(['ENODATA', 'ENOTFOUND'])

type Done<T> = (error: NodeJS.ErrnoException | null, records: readonly T[]) => void

const answer = <T>(ask: (done: Done<T>) => void): Promise<readonly T[]> =>
  new Promise((resolve, reject) =>
    ask((error, records) => {
      if (error === null) resolve(records)
      else if (NONE.has(error.code ?? '')) resolve([])
      else reject(error)
    }),
  )

/** Asks for a name once at a time, keeps the answer, and the old one for longer while no new one is to be had. */
function kept<T extends readonly unknown[]>(): (key: string, ask: () => Promise<T>) => Promise<T> {
  const cache = new LRUCache<string, T, () => Promise<T>>({
    ...atMost(MAX_NAMES),
    ttl: FRESH_MS,
    allowStaleOnFetchRejection: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: (_key, _stale, { context }) => context(),
  })
  return async (key, ask) => {
    try {
      return (await cache.fetch(key, { context: ask })) ?? ([] as unknown as T)
    } catch {
      return [] as unknown as T
    }
  }
}
