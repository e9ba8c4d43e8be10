import { randomBytes } from 'node:crypto'
import type { LegMedia } from '../../media/legs/leg-media.ts'
import { RtpLeg } from '../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../media/rooms/leg.ts'
import { Room } from '../../media/rooms/room.ts'
import type { PacketOut } from '../../media/rtp/packet-out.ts'

export const HOST = '127.0.0.1'
/** Cipher suite of encrypted legs. */
export const SUITE = 'AES_CM_128_HMAC_SHA1_80'
const KEY_BYTES = 30
/** Key of the packets that all far ends send. */
export const FAR_KEY = randomBytes(KEY_BYTES).toString('base64')
const TELEPHONE_EVENT = 101

/** Media as negotiated with most telephones. */
const mediaOf = (port: number, isEncrypted: boolean): LegMedia => ({
  codec: 'PCMU',
  payloadType: 0,
  receivePayloadTypes: [0],
  telephoneEvent: { send: TELEPHONE_EVENT, receive: TELEPHONE_EVENT },
  remote: {
    host: HOST,
    port,
    rtcpHost: HOST,
    rtcpPort: port + 1,
    rtcpMux: false,
    signallingHost: HOST,
    isReachable: true,
    isRtcpReachable: true,
  },
  direction: 'sendrecv',
  dtmf: 'auto',
  srtp: isEncrypted ? { suite: SUITE, sendKey: randomBytes(KEY_BYTES).toString('base64'), receiveKey: FAR_KEY } : null,
  dtls: null,
})

/** Makes a leg as the engine does, answered at `now` [ms]. */
export function openLeg(id: string, out: PacketOut, farPort: number, isEncrypted: boolean, now: number): RtpLeg {
  const random = (): number => randomBytes(4).readUInt32BE()
  const leg = new RtpLeg(id, out, NO_HOOKS, random, () => {})
  leg.connect(mediaOf(farPort, isEncrypted), now)
  return leg
}

/** Puts legs into rooms of `size`. */
export function openRooms(legs: readonly RtpLeg[], size: number): Room[] {
  return Array.from({ length: Math.ceil(legs.length / size) }, (_, number) => {
    const roomId = `room_${number}`
    const room = new Room({ roomId, kind: 'conference', chimes: false, musicWhenAlone: false, maxMembers: size })
    room.legs.push(...legs.slice(number * size, (number + 1) * size))
    return room
  })
}
