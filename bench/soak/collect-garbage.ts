import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'

/** Environment of processes whose garbage can be collected: each opens its inspector, once it is asked to (SIGUSR1), at a port of its own. */
export const COLLECTABLE = { NODE_OPTIONS: `${process.env.TANDEM_TEST_NODE_OPTIONS ?? ''} --inspect-port=0`.trim() }

const LISTENING = /Debugger listening on (ws:\S+)/g
const PATIENCE_MS = 10_000

/**
 * Has the main thread of a process collect all its garbage: what it has then is kept by something. V8 alone would let garbage be until it needs
 * the room, which after a burst may be never.
 *
 * @param output what the process has written so far
 */
export async function collectGarbage(pid: number, output: () => string): Promise<void> {
  const opened = (): string[] => Array.from(output().matchAll(LISTENING), ([, url]) => url!)
  const before = opened().length
  process.kill(pid, 'SIGUSR1')
  const limit = performance.now() + PATIENCE_MS
  while (opened().length === before) {
    if (performance.now() > limit) throw new Error(`process ${pid} opens no inspector`)
    await sleep(20)
  }
  const inspector = new WebSocket(opened().at(-1)!)
  await once(inspector, 'open')
  inspector.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }))
  await once(inspector, 'message')
  inspector.close()
}
