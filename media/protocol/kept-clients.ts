/** Connections that wait for their next request at most; the one that has waited longest is closed. */
const MAX_IDLE = 64
/** For so long a connection is used, so that a name that leads elsewhere is followed [ms]. */
const MAX_AGE_MS = 60_000

/** A client with one connection. */
interface OneConnection {
  destroy(): unknown
}

/** A client, and when it first dialled [ms], monotonic. */
interface KeptClient<C extends OneConnection> {
  client: C
  since: number
}

/** Clients whose connection another request to the same place may use. Whoever has one has it alone. */
export class KeptClients<C extends OneConnection> {
  /** By place, in the order in which they were given back. */
  readonly #idle = new Map<KeptClient<C>, string>()

  /** The one that was used last; null: there is none. */
  take(place: string): KeptClient<C> | null {
    let latest: KeptClient<C> | null = null
    for (const [kept, of] of this.#idle) if (of === place) latest = kept
    if (latest !== null) this.#idle.delete(latest)
    return latest
  }

  /** Its answer was read to the end. */
  give(place: string, kept: KeptClient<C>, now: number): void {
    if (now - kept.since >= MAX_AGE_MS) {
      void kept.client.destroy()
      return
    }
    this.#idle.set(kept, place)
    if (this.#idle.size <= MAX_IDLE) return
    for (const oldest of this.#idle.keys()) {
      this.#idle.delete(oldest)
      void oldest.client.destroy()
      break
    }
  }
}
