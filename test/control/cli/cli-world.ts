import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { runClient } from '../../../control/cli/run.ts'
import { makeWholeApp } from '../whole-app.ts'

/** A running `tandem` command, as a user sees it in a terminal. */
export class Running {
  out = ''
  err = ''
  readonly code: Promise<number>
  readonly #stop = new AbortController()
  readonly #watching = new Set<() => void>()

  constructor(args: string[], env: Record<string, string>, input = '') {
    const seen = (): void => {
      for (const look of this.#watching) look()
    }
    const terminal = {
      out: (written: string | Uint8Array) => {
        this.out += Buffer.from(written).toString()
        seen()
      },
      err: (line: string) => {
        this.err += `${line}\n`
        seen()
      },
      env,
      signal: this.#stop.signal,
      input: async () => input,
    }
    this.code = runClient(terminal, args, ['start'])
  }

  /** Waits for a line that matches, and returns its first group. */
  prints(line: RegExp): Promise<string> {
    return new Promise(resolve => {
      const look = (): void => {
        const found = line.exec(this.out + this.err)
        if (found === null) return
        this.#watching.delete(look)
        resolve(found[1] ?? found[0])
      }
      this.#watching.add(look)
      look()
    })
  }

  /** Ctrl-C. */
  stop(): Promise<number> {
    this.#stop.abort()
    return this.code
  }
}

/** A developer's own server, which accepts only what the official library has verified. */
export async function makeReceiver() {
  const events: { id: string; type: string }[] = []
  const watching = new Set<() => void>()
  const it = { secret: '', status: 200, refused: 0 }
  const server = createServer(async (request: IncomingMessage, response) => {
    try {
      const headers = request.headers as Record<string, string>
      const event = new Webhook(it.secret).verify(await text(request), headers) as { id: string; type: string }
      if (event.id !== headers['webhook-id']) throw new Error('another ID')
      events.push(event)
    } catch {
      it.refused++
    }
    response.writeHead(it.status).end()
    for (const look of watching) look()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ...{ it, events },
    url: `http://127.0.0.1:${port}/hooks`,
    /** Resolves when it has received so many. */
    has: (count: number) =>
      new Promise<void>(resolve => {
        const look = (): void => {
          if (events.length + it.refused < count) return
          watching.delete(look)
          resolve()
        }
        watching.add(look)
        look()
      }),
    close: () => new Promise(resolve => server.close(resolve)),
  }
}

/** A network between the two that can be cut, even in the middle of a transmission. */
export async function makeNetwork(toPort: number) {
  const sockets = new Set<Socket>()
  const it = { connections: 0, cutAfter: Number.POSITIVE_INFINITY }
  const server = createTcpServer(near => {
    it.connections++
    const far = connect(toPort, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far)
    far.on('data', data => {
      near.write(data.subarray(0, it.cutAfter))
      if (data.length > it.cutAfter) near.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    it,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: (): void => {
      for (const socket of sockets) socket.destroy()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise(resolve => server.close(resolve))
    },
  }
}

/** The product's API on a real port, and a home for the command's files. */
export async function makeCliWorld() {
  const app = await makeWholeApp()
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const home = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const env = { HOME: home, TANDEM_API_URL: url, TANDEM_API_KEY: app.ours.keys.test }
  const start = (line: string, more: Record<string, string> = {}, input = '') =>
    new Running(line.split(' '), { ...env, ...more }, input)
  return {
    ...{ app, url, home, env, start },
    /** Runs a command to its end. */
    tandem: async (line: string, more: Record<string, string> = {}, input = '') => {
      const running = start(line, more, input)
      const code = await running.code
      return { code, out: running.out, err: running.err }
    },
    close: async () => {
      // A client may have opened a connection that it no longer needed.
      app.app.server.closeAllConnections()
      await app.close()
      rmSync(home, { recursive: true })
    },
  }
}
