import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { LogOutput } from '../../media/protocol.ts'
import type { ProcessName } from '../kernel/data-dir.ts'

export interface ChildSpec {
  name: Exclude<ProcessName, 'supervisor'>
  /** The file to run, after the flags of Node. */
  argv: readonly string[]
  env: NodeJS.ProcessEnv
  /** Additional variables for restarts after it has served. */
  envAgain?: NodeJS.ProcessEnv
  /** Its nice value; absent: that of this process. */
  nice?: number
  /** Called with the type of each later message. */
  onNotice?(type: string): void
}

/** How a process ended. */
export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** What a process sends when it is ready. */
export type ReadyMessage = { type: 'ready' } & Record<string, unknown>
/** What a process sends once it serves, before it is ready. From then on its death is not a failed start. */
type ServingMessage = { type: 'serving' } & Record<string, unknown>

/** A running child process. It writes its logs to its stderr, and talks to us over an IPC channel. */
export interface Child {
  readonly pid: number
  /** Its ready message, or how it ended before that. */
  readonly ready: Promise<ReadyMessage | Exit>
  /** Its first message; null: none yet. */
  readonly serving: ServingMessage | null
  /** Resolves after all of its messages. */
  readonly exited: Promise<Exit>
  /** Asks it to end. */
  stop(): void
  kill(signal: NodeJS.Signals): void
}

/** @param output takes what it writes; null: it writes to our own terminal */
export function startChild(spec: ChildSpec, output: LogOutput | null, isAgain = false): Child {
  const itsOutput = output === null ? 'inherit' : 'pipe'
  const child = spawn(process.execPath, spec.argv, {
    env: isAgain ? { ...spec.env, ...spec.envAgain } : spec.env,
    stdio: ['ignore', itsOutput, itsOutput, 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) if (stream !== null) output?.relay(stream)
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
      // An init system may send a signal to all processes of a service, so a serving process ends only on this message.
      if (child.connected) child.send({ type: 'stop' })
      child.kill('SIGTERM')
    },
    kill: signal => {
      child.kill(signal)
    },
  }
}

export const isExit = (outcome: ReadyMessage | Exit): outcome is Exit => !('type' in outcome)

/** Sets the nice value of the process and of its existing threads; later threads inherit it. On Linux a thread's ID works as a process ID. */
function standBack(pid: number, nice: number): void {
  try {
    setPriority(pid, nice)
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice)
  } catch {
    // The process has ended, which is reported separately; or this is another system, where the first call applies to all threads.
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
