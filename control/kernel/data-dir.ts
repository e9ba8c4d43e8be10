import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sha256 } from './secrets.ts'

/** sun_path has at least 104 bytes on every system, including the terminating zero. */
const MAX_SOCKET_PATH_BYTES = 103
const PRIVATE_MODE = 0o700
/** Codes of Node and of SQLite for a full disk. */
const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)$/

export type ProcessName = 'supervisor' | 'media' | 'control'

export const databaseFile = (dataDir: string): string => join(dataDir, 'tandem.db')

/** Identifies this installation in a shared database; generated once. */
export function ownNodeId(dataDir: string): string {
  const file = join(dataDir, 'node-id')
  if (!existsSync(file)) writeFileSync(file, `node-${randomBytes(6).toString('hex')}\n`)
  return readFileSync(file, 'utf8').trim()
}

/** Where media listens for control: in the data directory, or, if its path is too long, in the system's temporary directory. */
export function mediaSocketPath(dataDir: string): string {
  const path = join(dataDir, 'run', 'media.sock')
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return path
  return join(tmpdir(), `tandem-${sha256(dataDir).slice(0, 16)}`, 'media.sock')
}

/** Creates the data directory and all folders in it, or says in one line why it cannot be used. */
export function prepareDataDir(dataDir: string): { error: string } | null {
  try {
    makeFolder(dataDir)
    for (const folder of ['run', 'recordings']) makeFolder(join(dataDir, folder))
    makeFolder(dirname(mediaSocketPath(dataDir)))
    const probe = join(dataDir, 'run', `probe.${process.pid}`)
    writeFileSync(probe, '')
    rmSync(probe)
    // Of a start as another user.
    for (const file of ['', '-wal', '-shm'].map(end => `${databaseFile(dataDir)}${end}`))
      if (existsSync(file)) closeSync(openSync(file, 'r+'))
    return null
  } catch (error) {
    return unusable(dataDir, error as NodeJS.ErrnoException)
  }
}

function unusable(dataDir: string, { code = '', path = dataDir }: NodeJS.ErrnoException): { error: string } {
  const remedy = FULL.test(code) ? 'free some space' : 'make it and its files writable'
  const error = `Cannot write to the data directory ${dataDir} (${code}, ${path}): ${remedy}, or set TANDEM_DATA_DIR to another one.`
  return { error }
}

/** Not mkdir's own `recursive`: on a file system that refuses with ENOENT, such as /proc, it loops forever. */
function makeFolder(path: string): void {
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) return
    throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' })
  }
  if (dirname(path) !== path) makeFolder(dirname(path))
  mkdirSync(path, PRIVATE_MODE)
}

/** Prevents a second instance by an exclusive SQLite lock. The operating system releases it even if the process is killed. `release` gives it up. */
export function lockDataDir(dataDir: string): { release(): void } | { error: string } {
  const lock = new BetterSqlite3(join(dataDir, 'run', 'lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return { release: () => lock.close() }
  } catch (error) {
    lock.close()
    if ((error as { code: string }).code !== 'SQLITE_BUSY') return unusable(dataDir, error as NodeJS.ErrnoException)
    const pid = readPid(dataDir, 'supervisor')
    const who = pid === null ? '' : ` (process ${pid})`
    return {
      error: `Another Tandem${who} uses the data directory ${dataDir}: stop it, or set TANDEM_DATA_DIR to another one.`,
    }
  }
}

const pidFile = (dataDir: string, name: ProcessName): string => join(dataDir, 'run', `${name}.pid`)

export function writePid(dataDir: string, name: ProcessName, pid: number): void {
  writeFileSync(pidFile(dataDir, name), `${pid}\n`)
}

export function removePid(dataDir: string, name: ProcessName): void {
  rmSync(pidFile(dataDir, name), { force: true })
}

export function readPid(dataDir: string, name: ProcessName): number | null {
  try {
    const pid = Number(readFileSync(pidFile(dataDir, name), 'utf8'))
    return Number.isInteger(pid) && pid > 0 ? pid : null
  } catch {
    return null
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
