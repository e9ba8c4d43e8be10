import { readConfig } from '../../control/config.ts'
import type { SipAddress } from '../phone.ts'
import { Product } from '../product.ts'
import { RestClient } from '../rest-client.ts'

/** The product that the demo calls, and how to leave it. */
export interface Host {
  rest: RestClient
  sip: SipAddress
  /** Started for the demo alone. */
  isOwn: boolean
  leave: () => Promise<unknown>
}

/** The product at the configured address when one runs there, else a fresh one of our own. Throws a line that says what to do. */
export async function findHost(env: NodeJS.ProcessEnv): Promise<Host> {
  const read = readConfig(env)
  if ('errors' in read) throw new Error(read.errors.join('\n'))
  const { config } = read
  const baseUrl = `http://${reachable(config.httpHost)}:${config.httpPort}`
  const isReady = await fetch(`${baseUrl}/readyz`).then(
    response => response.ok,
    () => false,
  )
  if (!isReady) {
    const product = await Product.start()
    return { rest: product, sip: product.sip, isOwn: true, leave: () => product.stop() }
  }
  if (config.liveKey === null) {
    throw new Error(`Tandem runs at ${baseUrl}: set TANDEM_LIVE_KEY to its live key, or stop it first.`)
  }
  return {
    rest: new RestClient(baseUrl, config.liveKey),
    sip: { host: reachable(config.sipHost), port: config.sipPort },
    isOwn: false,
    leave: async () => {},
  }
}

const reachable = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)
