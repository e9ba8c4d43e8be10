import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type CommandName,
  type Commands,
  encodeMessage,
  type FromMedia,
  type MediaEvent,
  MessageReader,
  PROTOCOL_VERSION,
  type Utterance,
} from '../../media/protocol.ts'
import { MediaDouble } from './media-double.ts'
import { type NumberedEvent, utteranceOf } from './media-model.ts'

type Handled = { name: CommandName; body: unknown }
type Override = (body: never) => object | 'silence' | undefined | Promise<undefined>

/** The double of media at the end of a real Unix socket, speaking the real protocol. */
export class FakeMedia extends MediaDouble {
  readonly path: string
  /** Every command received, in order. */
  readonly handled: Handled[] = []
  /** Replaces the effect of a command; 'silence': no reply; undefined: the default; a promise: the default, once it resolves. */
  readonly overrides = new Map<CommandName, Override>()
  acked = 0
  /** Number of acknowledging messages. */
  acknowledgements = 0
  readonly #dir = mkdtempSync(join(tmpdir(), 'tandem-media-'))
  #server: Server | null = null
  #clients = new Set<Socket>()
  readonly #waiters: { done: () => boolean; resolve: () => void }[] = []

  constructor() {
    super()
    this.path = join(this.#dir, 'media.sock')
  }

  listen(): Promise<void> {
    const server = createServer(socket => this.#accept(socket))
    this.#server = server
    return new Promise(resolve => server.listen(this.path, resolve))
  }

  /** Ends the process with all its state; the next `listen` starts a new one. */
  async die(nextBootId: string): Promise<void> {
    const server = this.#server
    this.#server = null
    this.disconnect()
    await new Promise(resolve => server?.close(resolve) ?? resolve(null))
    this.forget(nextBootId)
    this.acked = 0
  }

  disconnect(): void {
    for (const client of this.#clients) client.destroy()
    this.#clients.clear()
  }

  async close(): Promise<void> {
    await this.die('')
    rmSync(this.#dir, { recursive: true, force: true })
  }

  // ------------------------------------------------------------------ what a test waits for and asks

  /** Resolves as soon as `done` holds; checked after every message. */
  until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve()
    return new Promise(resolve => this.#waiters.push({ done, resolve }))
  }

  /** The commands of a name received so far. */
  sent<N extends CommandName>(name: N): Commands[N]['request'][] {
    return this.handled.filter(one => one.name === name).map(one => one.body as Commands[N]['request'])
  }

  /** Waits for `count` commands of this name, for this leg or any, and returns the latest. */
  async command<N extends CommandName>(name: N, legId?: string, count = 1): Promise<Commands[N]['request']> {
    const matching = () =>
      this.sent(name).filter(body => legId === undefined || (body as { legId?: string }).legId === legId)
    await this.until(() => matching().length >= count)
    return matching()[count - 1]!
  }

  /** Somebody dials in. Resolves with the command that control sends to the leg, once it has committed every event so far. */
  async dialInUntil<N extends CommandName>(
    name: N,
    ...leg: Parameters<MediaDouble['dialIn']>
  ): Promise<Commands[N]['request']> {
    this.dialIn(...leg)
    const command = await this.command(name, leg[0])
    await this.committed()
    return command
  }

  /** Resolves when control has committed every event so far. */
  committed(): Promise<void> {
    return this.until(() => this.acked >= this.seq)
  }

  // ------------------------------------------------------------------ what the parties do

  /** Sends an event again, as after a lost acknowledgement. */
  repeat(seq: number, event: MediaEvent): void {
    this.#send({ type: 'event', seq, event })
  }

  /** The party answers the running `leg.collect` with this text. */
  say(legId: string, text: string): void {
    const asked = this.sent('leg.collect').filter(body => body.legId === legId)
    this.legs.get(legId)!.collecting = false
    const utterance = utteranceOf(text)
    this.emit('leg.collected', {
      legId,
      collectId: asked.at(-1)?.collectId ?? '',
      digits: '',
      ended: 'speech',
      utterance,
    })
  }

  /** The party says this while `leg.listen` is active. */
  utter(legId: string, text: string, more: Partial<Utterance> = {}): void {
    const listenId = this.sent('leg.listen').findLast(body => body.legId === legId)?.listen.listenId ?? ''
    this.emit('leg.utterance', { legId, listenId, utterance: { ...utteranceOf(text), ...more } })
  }

  press(legId: string, digits: string, ended: 'terminator' | 'length' | 'timeout' = 'length'): void {
    const collectId =
      this.sent('leg.collect')
        .filter(body => body.legId === legId)
        .at(-1)?.collectId ?? ''
    this.legs.get(legId)!.collecting = false
    this.emit('leg.collected', { legId, collectId, digits, ended, utterance: null })
  }

  // ------------------------------------------------------------------ the channel

  protected override raised(numbered: NumberedEvent): void {
    this.#send({ type: 'event', ...numbered })
  }

  #accept(socket: Socket): void {
    this.#clients.add(socket)
    const reader = new MessageReader()
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#clients.delete(socket))
    socket.on('data', bytes => {
      const result = reader.read(bytes)
      if ('error' in result) throw new Error(result.error)
      for (const message of result.messages) this.#receive(socket, message)
      for (const waiter of [...this.#waiters]) {
        if (!waiter.done()) continue
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        waiter.resolve()
      }
    })
  }

  #receive(socket: Socket, message: Record<string, unknown>): void {
    const send = (answer: FromMedia) => socket.write(encodeMessage(answer))
    if (message.type === 'hello') {
      if (message.bootId === this.bootId) this.#committedTo(message.lastSeq as number)
      send({
        type: 'hello',
        version: PROTOCOL_VERSION,
        bootId: this.bootId,
        eventsLost: 0,
        ...(this.dialledBefore && { dialled: this.dialledBefore }),
      })
      for (const numbered of this.unacknowledged) send({ type: 'event', ...numbered })
    } else if (message.type === 'ack') {
      this.acknowledgements++
      this.#committedTo(message.seq as number)
    } else {
      const name = message.name as CommandName
      this.handled.push({ name, body: message.body })
      const { id } = message as { id: number }
      const carryOut = () => this.carryOut(name, message.body as never)
      const reply = this.overrides.get(name)?.(message.body as never) ?? carryOut()
      if (reply instanceof Promise) void reply.then(() => send({ type: 'reply', id, body: carryOut() }))
      else if (reply !== 'silence') send({ type: 'reply', id, body: reply })
    }
  }

  #committedTo(seq: number): void {
    this.acked = Math.max(this.acked, seq)
    this.acknowledge(seq)
  }

  #send(message: FromMedia): void {
    for (const client of this.#clients) client.write(encodeMessage(message))
  }
}
