/**
 * A script with V8's code cache beside it: what V8 compiled for the first start, which the next ones need not parse and compile again.
 * The script's name holds a hash of its text, so that no cache is ever taken for another script.
 */
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cachedDataVersionTag } from 'node:v8'
import { Script } from 'node:vm'

/**
 * V8 takes only what its own version made with the same flags. Each set of flags has a file of its own: with one for all, a process with
 * other flags would take it from those that come after.
 */
export const cacheOf = (path: string): string => `${path}.${cachedDataVersionTag().toString(16)}.cache`

/** Stands in front of what V8 made: V8 trusts each byte, and a process dies of one that a disk has lost. */
const DIGEST_BYTES = 32
const digestOf = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest()

/** Null: this is the first start, or the file is not what was written. */
function readCache(file: string): Buffer | null {
  try {
    const bytes = readFileSync(file)
    const data = bytes.subarray(DIGEST_BYTES)
    return digestOf(data).equals(bytes.subarray(0, DIGEST_BYTES)) ? data : null
  } catch {
    return null
  }
}

interface LoadedScript {
  exports: unknown
  /** Keeps what has been compiled by now, unless V8 has taken a cache, or has other flags by now: it would not take what it made with them. */
  keepCode(): void
}

/** Runs a script in CommonJS. */
export function loadScript(path: string): LoadedScript {
  const file = cacheOf(path)
  const cachedData = readCache(file)
  const script = new Script(`(function (module, exports, require, __filename) {${readFileSync(path, 'utf8')}\n})`, {
    filename: path,
    ...(cachedData !== null && { cachedData }),
  })
  const isTaken = cachedData !== null && script.cachedDataRejected === false
  const module = { exports: {} }
  script.runInThisContext()(module, module.exports, createRequire(path), path)
  return {
    exports: module.exports,
    keepCode: () => {
      if (!isTaken && file === cacheOf(path)) writeCache(file, script.createCachedData())
    },
  }
}

function writeCache(file: string, data: Buffer): void {
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, Buffer.concat([digestOf(data), data]))
    renameSync(draft, file)
  } catch {
    // Who may not write here starts as slowly the next time.
  }
}
