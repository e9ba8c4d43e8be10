import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { ProcessName } from '../kernel/data-dir.ts'

export interface ChildSpec {
  name: Exclude<ProcessName, 'supervisor'>
  /** The file to run, after the flags of Node. */
  argv: readonly string[]
  env: NodeJS.ProcessEnv
  /** Added when it is started again after it has served. */
  envAgain?: NodeJS.ProcessEnv
  /** How far it stands back when others want the processor too, as nice(1) counts; absent: as we do. */
  nice?: number
  /** Type of a further message after it is ready. */
  onNotice?(type: string): void
}

/** How a process ended. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** What a process sends when it is ready. */
export type ReadyMessage = { type: 'ready' } & Record<string, unknown>
/** What a process sends before it is ready: from then on its death is no failed start. */
export type ServingMessage = { type: 'serving' } & Record<string, unknown>

/** One run of a process of ours. It writes its logs to our stderr and speaks to us over an IPC channel. */
export interface Child {
  readonly pid: number
  /** Its ready message, or how it ended before. */
  readonly ready: Promise<ReadyMessage | Exit>
  /** Its first message; null: none yet. */
  readonly serving: ServingMessage | null
  /** After all that it said. */
  readonly exited: Promise<Exit>
  /** Asks it to end. */
  stop(): void
  kill(signal: NodeJS.Signals): void
}

export function startChild(spec: ChildSpec, isAgain = false): Child {
  const child = spawn(process.execPath, spec.argv, {
    env: isAgain ? { ...spec.env, ...spec.envAgain } : spec.env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  if (spec.nice !== undefined && child.pid !== undefined) standBack(child.pid, spec.nice)
  const exited = exitOf(child)
  let serving: ServingMessage | null = null
  const said = new Promise<ReadyMessage>(resolve =>
    child.on('message', message => {
      if (isReadyMessage(message)) resolve(message)
      else if (isServingMessage(message)) serving = message
      else if (isNotice(message)) spec.onNotice?.(message.type)
    }),
  )
  return {
    pid: child.pid ?? 0,
    ready: Promise.race([said, exited]),
    get serving() {
      return serving
    },
    exited,
    stop: () => {
      // Whoever ends a service may send its signal to all of its processes: that alone makes none of them end that serves.
      if (child.connected) child.send({ type: 'stop' })
      child.kill('SIGTERM')
    },
    kill: signal => {
      child.kill(signal)
    },
  }
}

export const isExit = (outcome: ReadyMessage | Exit): outcome is Exit => !('type' in outcome)

/** Its first thread, then those that there are already: what they make from then on gets what its maker has. Linux takes a thread's number for a process's. */
function standBack(pid: number, nice: number): void {
  try {
    setPriority(pid, nice)
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice)
  } catch {
    // It has ended already, which is reported separately; or another system: there the first call is for all of them.
  }
}

const exitOf = (child: ChildProcess): Promise<Exit> =>
  new Promise(resolve => {
    child.once('exit', (code, signal) => {
      // Its last message may not have been read yet.
      if (child.connected) child.once('disconnect', () => resolve({ code, signal }))
      else resolve({ code, signal })
    })
    child.once('error', () => resolve({ code: 1, signal: null }))
  })

const isNotice = (message: unknown): message is { type: string } =>
  typeof message === 'object' && message !== null && 'type' in message && typeof message.type === 'string'
const isReadyMessage = (message: unknown): message is ReadyMessage => isNotice(message) && message.type === 'ready'
const isServingMessage = (message: unknown): message is ServingMessage =>
  isNotice(message) && message.type === 'serving'
