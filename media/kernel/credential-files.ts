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
  /** Used until the files can be, if they cannot be used at the start; absent: they must be usable. */
  instead?: T | undefined
}

interface Watched {
  name: string
  files: readonly string[]
  /** Reads and uses a new version; returns its expiry. */
  take: (contents: Buffer[]) => number | null
  /** Digests of the files as last read, and of those in use; empty: none are. */
  seen: string
  used: string
  expiresAt: number | null
  isOutdated: boolean
}

interface CredentialFilesOptions {
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

  /** Reads them for the first time. Throws when they cannot be used and nothing is there instead. */
  watch<T extends Credential>(set: CredentialSet<T>): T {
    const { name, files, read, use, instead } = set
    const take = (again: Buffer[]): number | null => {
      const credential = read(again)
      const { expiresAt } = credential
      if (this.#isOver(expiresAt)) throw new Error('it has expired')
      use(credential)
      return expiresAt
    }
    const contents = contentsOf(files)
    const seen = digestOf(contents)
    try {
      if (contents instanceof Error) throw contents
      const first = read(contents)
      const { expiresAt } = first
      if (this.#isOver(expiresAt))
        this.#options.log.error({ name, files }, 'a certificate has expired: far ends refuse it until it is replaced')
      this.#watched.push({ name, files, take, seen, used: seen, expiresAt, isOutdated: false })
      return first
    } catch (error) {
      if (instead === undefined) throw error
      this.#watched.push({ name, files, take, seen, used: '', expiresAt: null, isOutdated: true })
      this.#failed(
        { name, files },
        error as Error,
        'certificates or keys cannot be used: nothing that needs them works',
      )
      return instead
    }
  }

  #isOver(expiresAt: number | null): boolean {
    return expiresAt !== null && expiresAt <= this.#options.now()
  }

  #failed(fields: object, { message: problem }: Error, what: string): void {
    this.counters.credentialReloadFailures++
    this.#options.log.error({ ...fields, problem }, what)
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
    const seen = digestOf(contents)
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
      const what = one.used === '' ? 'nothing that needs them works' : 'those before stay in use'
      this.#failed({ name, files }, error as Error, `certificates or keys cannot be used: ${what}`)
    }
  }

  /** `…_expiry_timestamp_seconds`, and how many sets have a version that cannot be used, or no longer. */
  get gauges(): Record<string, number> {
    const gauges: Record<string, number> = {
      credential_files_outdated: this.#watched.filter(one => one.isOutdated || this.#isOver(one.expiresAt)).length,
    }
    for (const { name, expiresAt } of this.#watched) {
      if (expiresAt !== null) gauges[`${name}_expiry_timestamp_seconds`] = Math.floor(expiresAt / 1000)
    }
    return gauges
  }
}

function contentsOf(files: readonly string[]): Buffer[] | Error {
  try {
    return files.map(file => readFileSync(file))
  } catch (error) {
    return error as Error
  }
}

function digestOf(contents: readonly Uint8Array[] | Error): string {
  if (contents instanceof Error) return contents.message
  const hash = createHash('sha256')
  for (const content of contents) hash.update(`${content.length}\n`).update(content)
  return hash.digest('hex')
}
