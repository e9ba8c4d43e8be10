import { connect, type TcpNetConnectOpts } from 'node:net'
import { PING } from '../../../sip/message/framer.ts'

/** A node that lives answers within this [ms]. */
const NODE_MS = 1000

/**
 * Whether a node's SIP over TCP is alive. The system accepts connections for a process that stands still, or is just being killed, so
 * the node has to answer a keep-alive (RFC 5626 §3.5.1). `gone`: nothing listens there; `silent`: it does not answer in time.
 */
export async function probeNode(at: TcpNetConnectOpts): Promise<'alive' | 'gone' | 'silent'> {
  const first = await ask(at)
  // Nothing listens any more if it died at that moment. A process that goes on closing connections is running.
  const answer = first === 'closed' ? await ask(at) : first
  return answer === 'closed' ? 'alive' : answer
}

function ask(at: TcpNetConnectOpts): Promise<'alive' | 'gone' | 'silent' | 'closed'> {
  const socket = connect({ ...at, timeout: NODE_MS })
  return new Promise<'alive' | 'gone' | 'silent' | 'closed'>(resolve => {
    socket.once('connect', () => socket.write(PING))
    socket.once('data', () => resolve('alive'))
    socket.once('timeout', () => resolve('silent'))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') resolve('gone')
      else resolve(code === 'ECONNRESET' || code === 'EPIPE' ? 'closed' : 'silent')
    })
    socket.once('end', () => resolve('closed'))
  }).finally(() => socket.destroy())
}
