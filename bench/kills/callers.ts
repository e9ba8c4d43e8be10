import { setTimeout as sleep } from 'node:timers/promises'
import { Phone, type SipAddress } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'

const ECHO = '1002'
const SHORTEST_MS = 100
const SPREAD_MS = 400

/** Phones that stay in their calls, and phones that call and hang up again and again. */
export class Callers {
  /** Number of calls that were answered and hung up by the caller. */
  answered = 0
  /** Number of calls that media refused with 503, since control did not decide in time. */
  refused = 0
  readonly problems: string[] = []
  readonly #lasting: { phone: Phone; call: PhoneCall }[]
  readonly #coming: Promise<void>[]
  #isStopping = false

  private constructor(lasting: { phone: Phone; call: PhoneCall }[], server: SipAddress, coming: number) {
    this.#lasting = lasting
    this.#coming = Array.from({ length: coming }, (_, n) => this.#comeAndGo(`coming-${n}`, server))
  }

  static async start(server: SipAddress, counts: { lasting: number; coming: number }): Promise<Callers> {
    const lasting = []
    for (let n = 0; n < counts.lasting; n++) {
      const phone = await Phone.open(`lasting-${n}`)
      lasting.push({ phone, call: await phone.call(ECHO, server) })
    }
    return new Callers(lasting, server, counts.coming)
  }

  /** Packets that the lasting calls received, and gaps in their sequence numbers. */
  get packets(): { heard: number; missing: number } {
    const counts = this.#lasting.map(({ call }) => ({ heard: call.packets.length, missing: missingIn(call) }))
    return counts.reduce((sum, one) => ({ heard: sum.heard + one.heard, missing: sum.missing + one.missing }))
  }

  /** Places no more calls; the lasting ones go on. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#coming)
  }

  async close(): Promise<void> {
    await Promise.all(this.#lasting.map(({ phone }) => phone.close()))
  }

  async #comeAndGo(name: string, server: SipAddress): Promise<void> {
    const phone = await Phone.open(name)
    while (!this.#isStopping) {
      const call = await phone.dial(ECHO, server)
      const { status } = await call.outcome
      if (status === 200) {
        await sleep(SHORTEST_MS + Math.random() * SPREAD_MS)
        await call.hangup()
        this.answered++
      } else if (status === 503) this.refused++
      else this.problems.push(`a call was answered ${status}`)
    }
    await phone.close()
  }
}

function missingIn({ packets }: PhoneCall): number {
  let missing = 0
  for (let n = 1; n < packets.length; n++) {
    missing += (packets[n]!.sequence - packets[n - 1]!.sequence - 1) & 0xffff
  }
  return missing
}
