import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { careless, DESCRIPTIONS, template } from '../../test/fuzz/mischief.ts'
import type { Random } from '../../test/fuzz/random.ts'
import { type Address, offer, RawCall, type RawSocket, request } from '../../test/fuzz/raw-caller.ts'

const TORTURE = new URL('../../fixtures/sip/torture/', import.meta.url)
const STATUSES = ['100 Trying', '180', '200 OK', '302 Moved', '401 No', '503 X', '699 Y', '99 Z', '1000 A']
const IN_DIALOG = ['INVITE', 'INVITE', 'ACK', 'INFO', 'UPDATE', 'OPTIONS', 'PRACK', 'BYE', 'CANCEL', 'REFER', 'NOTIFY']
const ECHO = '1002'
/** Number of broken requests within a call. */
const PER_CALL = 20
/** Number of messages in a TCP connection; the first one that cannot be framed closes it. */
const PER_CONNECTION = 10

/** Makes broken SIP messages of every kind, the same ones for the same seed, and sends them. */
export class FuzzSender {
  sent = 0
  /** Calls that were refused with 503, since too many earlier ones had not ended. */
  refused = 0
  readonly #random: Random
  readonly #to: Address
  readonly #socket: RawSocket
  readonly #torture: readonly Buffer[]
  #number = 0

  private constructor(random: Random, to: Address, socket: RawSocket) {
    this.#random = random
    this.#to = to
    this.#socket = socket
    const names = readdirSync(TORTURE).filter(name => name.endsWith('.dat'))
    this.#torture = names.map(name => readFileSync(new URL(name, TORTURE)))
  }

  static async open(random: Random, to: Address): Promise<FuzzSender> {
    return new FuzzSender(random, to, await careless())
  }

  close(): void {
    this.#socket.close()
  }

  /** Sends messages outside of any call. */
  async strangers(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.#socket.send(this.#message().subarray(0, 65_507), this.#to)
      this.sent++
    }
  }

  /** Begins a call correctly, and sends broken requests in it. Does nothing if the call is refused. */
  async insideCall(): Promise<void> {
    const random = this.#random
    const call = await this.#begin()
    if (call === null) return
    for (let n = 0; n < PER_CALL; n++) {
      const method = random.pick(IN_DIALOG)
      const body = method === 'INVITE' ? { body: random.pick(DESCRIPTIONS)(offer(call.rtp.port)) } : {}
      const text = call.text(method, body).slice(0, 65_000)
      await call.say(random.mutate(Buffer.from(text, 'latin1'), random.int(3)))
      this.sent++
    }
    await call.hangup()
  }

  /** Sends the same messages as `strangers` over one TCP connection, until the product closes it. */
  async overTcp(): Promise<void> {
    const socket = connect(this.#to.port, this.#to.host)
    socket.on('error', () => {})
    socket.resume()
    const closed = once(socket, 'close')
    for (let n = 0; n < PER_CONNECTION && !socket.destroyed; n++) {
      const text = this.#message().toString('latin1').replace('SIP/2.0/UDP', 'SIP/2.0/TCP')
      socket.write(Buffer.from(text, 'latin1'))
      this.sent++
    }
    socket.end()
    const patience = setTimeout(() => socket.resetAndDestroy(), 200)
    await closed
    clearTimeout(patience)
  }

  async #begin(): Promise<RawCall | null> {
    try {
      return await RawCall.open(ECHO, this.#to, `${this.#random.seed}-${++this.#number}`)
    } catch (error) {
      if (!String(error).includes('SIP/2.0 503')) throw error
      this.refused++
      return null
    }
  }

  #message(): Buffer {
    const random = this.#random
    const dice = random.next()
    if (dice < 0.1) return random.mutate(random.pick(this.#torture))
    if (dice < 0.12) return random.bytes(1 + random.int(2000))
    const asked = template(random, this.#to, this.#socket.port, ++this.#number)
    if (dice < 0.2) {
      const described = { ...asked, method: 'INVITE', body: random.pick(DESCRIPTIONS)(offer(40_000)) }
      return Buffer.from(request(described), 'latin1')
    }
    const text = request(asked)
    if (dice < 0.3) {
      const answer = text.replace(/^.*/, `SIP/2.0 ${random.pick(STATUSES)}`)
      return random.mutate(Buffer.from(answer), random.int(3))
    }
    return random.mutate(Buffer.from(text))
  }
}
