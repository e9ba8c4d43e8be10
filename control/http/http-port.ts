import { once } from 'node:events'
import { createServer } from 'node:net'

/** Why the address cannot be used for HTTP, in one line; null: it can. */
export async function httpPortError(host: string, port: number): Promise<string | null> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return null
  } catch (error) {
    return describeListenError(error, host, port)
  }
}

export function describeListenError(error: unknown, host: string, port: number): string {
  const { code } = error as NodeJS.ErrnoException
  return code === 'EADDRINUSE'
    ? `HTTP port ${port} on ${host} is used by another program: stop it, or set TANDEM_HTTP_PORT to a free port.`
    : `Cannot listen for HTTP on ${host}:${port} (${code}): set TANDEM_HTTP_HOST to an address of this machine and TANDEM_HTTP_PORT to a port that you may use.`
}
