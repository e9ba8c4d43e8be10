import koffi from 'koffi'
import { AF_INET, AF_INET6, Libc, MSG_DONTWAIT, SharedMemory } from '../../../media/rtp/datagrams/libc.ts'

/** Socket options and control messages by which Linux reports the mark of a received packet (ip(7), ipv6(7)). */
const RECEIVE = { [AF_INET]: [0, 13], [AF_INET6]: [41, 66] } as const
const MARK = { [AF_INET]: [0, 1], [AF_INET6]: [41, 67] } as const

const libc = new Libc()
const setsockopt = koffi.load(null).func('int setsockopt(int, int, int, uintptr_t, uint32_t)')

/** A socket at a loopback address. `next`: the DSCP mark of the next received packet, or null. */
export function markReader(host: '127.0.0.1' | '::1', port: number): { next: () => number | null; close: () => void } {
  const family = host === '::1' ? AF_INET6 : AF_INET
  const fd = libc.socket(family)
  const own = new Int32Array(7)
  new DataView(own.buffer).setUint16(0, family, true)
  new DataView(own.buffer).setUint16(2, port)
  libc.writeAddress(family, host, own, family === AF_INET6 ? 8 : 4)
  const memory = new SharedMemory(1024)
  const { view, address } = memory
  view.setInt32(0, 1, true)
  setsockopt(fd, ...RECEIVE[family], address, 4)
  if (!libc.bind(fd, own, family === AF_INET6 ? 28 : 16)) throw new Error('the port is taken')
  // struct msghdr, then its iovec, the control messages and the packet.
  const [vector, control, packet] = [64, 128, 512]
  const next = (): number | null => {
    memory.bytes.fill(0)
    const numbers: [number, number][] = [
      [16, address + vector],
      [24, 1],
      [32, address + control],
      [40, packet - control],
      [vector, address + packet],
      [vector + 8, 256],
    ]
    for (const [at, value] of numbers) view.setBigUint64(at, BigInt(value), true)
    if (Number(libc.recvmsg(fd, address, MSG_DONTWAIT)) < 0) return null
    const end = control + Number(view.getBigUint64(40, true))
    for (let at = control; at < end; at += (Number(view.getBigUint64(at, true)) + 7) & ~7) {
      const [level, type] = MARK[family]
      if (view.getInt32(at + 8, true) === level && view.getInt32(at + 12, true) === type)
        return view.getUint8(at + 16) >> 2
    }
    return 0
  }
  return { next, close: () => libc.close(fd) }
}
