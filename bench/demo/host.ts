import { readConfig } from '../../control/kernel/config/read.ts'
import type { SipAddress } from '../phone/phone.ts'
import { Product } from '../product.ts'
import { RestClient } from '../rest-client.ts'

/** The product that the demo calls. `leave`: stops it, if it is the demo's own. */
export interface Host {
  rest: RestClient
  sip: SipAddress
  /** Started for the demo alone. */
  isOwn: boolean
  leave: () => Promise<unknown>
}

/**
 * Starts a fresh product on free ports, beside any that runs; with `TANDEM_LIVE_KEY`, uses the one that runs at the configured address. Throws an error
 * that tells the user what to do.
 */
export async function findHost(env: NodeJS.ProcessEnv): Promise<Host> {
  const read = readConfig(env)
  if ('errors' in read) throw new Error(read.errors.join('\n'))
  const { config } = read
  if (config.liveKey === null) {
    const product = await Product.start()
    return { rest: product, sip: product.sip, isOwn: true, leave: () => product.stop() }
  }
  const baseUrl = `http://${reachable(config.httpHost)}:${config.httpPort}`
  const isReady = await fetch(`${baseUrl}/readyz`).then(
    response => response.ok,
    () => false,
  )
  if (!isReady)
    throw new Error(`No Tandem answers at ${baseUrl}: start it, or unset TANDEM_LIVE_KEY for one of the demo's own.`)
  return {
    rest: new RestClient(baseUrl, config.liveKey),
    sip: { host: reachable(config.sipHosts[0]!), port: config.sipPort },
    isOwn: false,
    leave: async () => {},
  }
}

const reachable = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host)
