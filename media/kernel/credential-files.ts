import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Content of a set of files; `expiresAt`: first expiry of its certificates [ms since 1970]; null: none. */
interface Credential {
  expiresAt: number | null
}

interface CredentialSet<T extends Credential> {
  /** Name of its gauge. */
  name: string
  files: readonly string[]
  /** Throws when the files cannot be used, alone or with each other. */
  read: (contents: Buffer[]) => T
  /** Replaces what was read before. */
  use: (credential: T) => void
}

interface Watched {
  name: string
  files: readonly string[]
  /** Reads and uses a new version; returns its expiry. */
  take: (contents: Buffer[]) => number | null
  /** Digests of the files as last read, and of those in use. */
  seen: string
  used: string
  expiresAt: number | null
  isOutdated: boolean
}

export interface CredentialFilesOptions {
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
  /** Time of day [ms]. */
  now: () => number
}

/**
 * Certificates and keys in files, read again when they change. Their contents are compared, not their times, because a mounted secret
 * changes by a link. A version that cannot be used is reported once, and the one before stays in use.
 */
export class CredentialFiles {
  readonly counters = { credentialReloads: 0, credentialReloadFailures: 0 }
  readonly #options: CredentialFilesOptions
  readonly #watched: Watched[] = []
  #isLooking = false

  constructor(options: CredentialFilesOptions) {
    this.#options = options
  }

  /** Reads them for the first time. Throws when they cannot be used. */
  watch<T extends Credential>({ name, files, read, use }: CredentialSet<T>): T {
    const contents = files.map(file => readFileSync(file))
    const first = read(contents)
    const take = (again: Buffer[]): number | null => {
      const credential = read(again)
      const { expiresAt } = credential
      if (expiresAt !== null && expiresAt <= this.#options.now()) throw new Error('it has expired')
      use(credential)
      return expiresAt
    }
    const { expiresAt } = first
    const seen = digestOf(contents)
    this.#watched.push({ name, files, take, seen, used: seen, expiresAt, isOutdated: false })
    return first
  }

  /** Looks whether any has changed. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    for (const one of this.#watched) await this.#lookAt(one)
    this.#isLooking = false
  }

  async #lookAt(one: Watched): Promise<void> {
    const { name, files } = one
    const contents = await Promise.all(files.map(file => readFile(file))).catch((error: Error) => error)
    const seen = contents instanceof Error ? contents.message : digestOf(contents)
    if (seen === one.seen) return
    one.seen = seen
    one.isOutdated = seen !== one.used
    if (!one.isOutdated) return
    try {
      if (contents instanceof Error) throw contents
      one.expiresAt = one.take(contents)
      one.used = seen
      one.isOutdated = false
      this.counters.credentialReloads++
      this.#options.log.info({ name, files }, 'new certificates or keys are in use')
    } catch (error) {
      this.counters.credentialReloadFailures++
      const { message: problem } = error as Error
      this.#options.log.error({ name, files, problem }, 'certificates or keys cannot be used: those before stay in use')
    }
  }

  /** `…_expiry_timestamp_seconds`, and how many sets have a version that cannot be used. */
  get gauges(): Record<string, number> {
    const gauges: Record<string, number> = {
      credential_files_outdated: this.#watched.filter(({ isOutdated }) => isOutdated).length,
    }
    for (const { name, expiresAt } of this.#watched) {
      if (expiresAt !== null) gauges[`${name}_expiry_timestamp_seconds`] = Math.floor(expiresAt / 1000)
    }
    return gauges
  }
}

function digestOf(contents: readonly Uint8Array[]): string {
  const hash = createHash('sha256')
  for (const content of contents) hash.update(`${content.length}\n`).update(content)
  return hash.digest('hex')
}
