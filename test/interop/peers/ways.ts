import { mkdtempSync, rmSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../bench/free-port.ts'
import { Product } from '../../../bench/product.ts'
import { bracketed } from '../../../sip/message/uri.ts'
import type { Suite } from '../../harness.ts'
import {
  type CertificateFiles,
  connectionOf,
  type Door,
  datagramsFrom,
  datagramsTo,
  doorFrom,
  doorTo,
  makeCertificate,
  type Passes,
} from './doors.ts'
import { Sipp, type SippOptions } from './sipp.ts'

export const [FOUR, SIX] = ['127.0.0.1', '::1']
export const hasSix = Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === SIX))

/** What a far end speaks over. */
export interface Way {
  transport: 'udp' | 'tcp' | 'tls'
  host: string
}

/** Each transport, in both address families. */
export const WAYS: readonly Way[] = [FOUR, SIX].flatMap(host =>
  (['udp', 'tcp', 'tls'] as const).map(transport => ({ transport, host })),
)

export const overUdp = ({ transport }: Way): boolean => transport === 'udp'

/** Registers a test that runs over each of these ways, all at once. */
export function testWays(
  test: Suite,
  missing: string | null,
  sentence: string,
  run: (way: Way) => Promise<void>,
  ways = WAYS,
): void {
  for (const way of ways) {
    const named = `${sentence}, over ${way.transport}, ${way.host === SIX ? 'IPv6' : 'IPv4'}`
    const lacking = missing ?? (way.host === SIX && !hasSix ? 'this machine has no IPv6' : null)
    test(named, () => run(way), { timeoutMs: 150_000, together: true, missing: lacking })
  }
}

/** A product that can be reached over every way, and SIPps that call it or are called. */
export class WaysProduct {
  readonly product: Product
  readonly #files: CertificateFiles
  readonly #tlsPort: number
  readonly #doors: Door[] = []

  private constructor(product: Product, files: CertificateFiles, tlsPort: number) {
    this.product = product
    this.#files = files
    this.#tlsPort = tlsPort
  }

  static async start(): Promise<WaysProduct> {
    const files = makeCertificate(mkdtempSync(join(tmpdir(), 'tandem-ways-')), [FOUR, SIX])
    const tlsPort = await freePort()
    const product = await Product.start({
      env: {
        TANDEM_SIP_HOST: hasSix ? `${FOUR},${SIX}` : FOUR,
        TANDEM_ALLOW_PRIVATE_URLS: '127.0.0.0/8,::1/128',
        TANDEM_SIP_TLS_PORT: String(tlsPort),
        TANDEM_SIP_TLS_CERT: files.cert,
        TANDEM_SIP_TLS_KEY: files.key,
        NODE_EXTRA_CA_CERTS: files.cert,
      },
    })
    // The demo knows who calls from this machine by IPv4.
    await product.ok('POST', '/connections', { name: 'Six', kind: 'peer', allowed_ips: ['::1/128'] })
    return new WaysProduct(product, files, tlsPort)
  }

  /** Starts SIPp as the caller. @param passes the network in between */
  async caller(scenario: string, way: Way, options: SippOptions = {}, passes?: Passes): Promise<Sipp> {
    const server = this.#serverOf(way)
    const door =
      way.transport === 'udp'
        ? passes && (await datagramsTo(server, passes))
        : await doorTo(server, way.transport, passes ?? once())
    if (door !== undefined) this.#doors.push(door)
    return Sipp.caller(scenario, { host: way.host, port: door?.port ?? server.port }, sippOptions(way, options))
  }

  /** Starts SIPp as the called party. @param passes the network in between @returns with the address at which it is called */
  async callee(scenario: string, way: Way, options: SippOptions = {}, passes?: Passes) {
    const { transport, host } = way
    const sipp = await Sipp.callee(scenario, sippOptions(way, options))
    const door =
      transport === 'udp'
        ? passes && (await datagramsFrom(sipp, passes))
        : transport === 'tls' || passes
          ? await doorFrom(sipp, this.#files, transport, passes)
          : undefined
    if (door !== undefined) this.#doors.push(door)
    const at = `sip:callee@${bracketed(host)}:${door?.port ?? sipp.port}`
    return { sipp, uri: overUdp(way) ? at : `${at};transport=${transport}` }
  }

  /** Registers a phone. @returns starts SIPp as the called party at it */
  async phone(account: { username: string; password: string }, way: Way): Promise<PhoneSipp> {
    const server = this.#serverOf(way)
    const { transport, host } = way
    const door = transport === 'udp' ? null : await connectionOf(server, transport)
    if (door !== null) this.#doors.push(door)
    const options = sippOptions(way, { account, to: account.username })
    const registering = await Sipp.caller('registers', { host, port: door?.port ?? server.port }, options)
    await registering.passed()
    return async (scenario, keys = {}) => {
      const sipp = await Sipp.callee(scenario, sippOptions(way, { port: registering.port, keys }))
      door?.leadsTo(sipp)
      return sipp
    }
  }

  close(): void {
    for (const door of this.#doors) door.close()
    rmSync(join(this.#files.cert, '..'), { recursive: true, force: true })
  }

  #serverOf({ transport, host }: Way): { host: string; port: number } {
    return { host, port: transport === 'tls' ? this.#tlsPort : this.product.sip.port }
  }
}

type PhoneSipp = (scenario: string, keys?: Record<string, string>) => Promise<Sipp>

const sippOptions = (way: Way, options: SippOptions): SippOptions => ({
  ...options,
  host: way.host,
  transport: overUdp(way) ? 'udp' : 'tcp',
})

/** Over a connection, SIPp takes a 200 that is repeated because its ACK is late, on a busy machine, for a fault. */
function once(): Passes {
  const seen = new Set<string>()
  return message => {
    const text = message.toString('latin1')
    if (!text.startsWith('SIP/2.0 200') || !/^CSeq: \d+ INVITE\r$/m.test(text)) return message
    const isRepeated = seen.has(text)
    seen.add(text)
    return isRepeated ? null : message
  }
}

/** A network that loses messages once. Their names are the beginning of the first line and CSeq, as in `200 of 1 INVITE`. */
export class Loss {
  readonly lost = new Set<string>()
  readonly #isLost: (name: string) => boolean

  constructor(isLost: (name: string) => boolean) {
    this.#isLost = isLost
  }

  readonly passes: Passes = message => {
    const text = message.toString('latin1')
    const [, status, method] = /^(?:SIP\/2\.0 (\d+)|([A-Z]+) )/.exec(text) ?? []
    const name = `${status ?? method} of ${/^CSeq: (.*)\r$/m.exec(text)?.[1]}`
    if (this.lost.has(name) || !this.#isLost(name)) return message
    this.lost.add(name)
    return null
  }
}
