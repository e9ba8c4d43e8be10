import { memberNamed } from '../members.ts'
import { Phone, type SipAddress } from '../phone/phone.ts'
import type { MediaOptions, PhoneCall } from '../phone/phone-call.ts'
import type { RestClient } from '../rest-client.ts'

export const DEMO_NUMBER = '1000'
export const DEMO_PIN = '1234'

/** A participant: a phone, a flite voice, and how it presses keys. */
export interface Caller {
  name: string
  voice: string
  pressesAs: 'rfc4733' | 'inband'
  phone: Phone
  call: PhoneCall
  /** `part_…`, once in the room. */
  participantId: string
  /** `call_…` of this one phone. */
  callId: string
}

const ROLES: { name: string; voice: string; pressesAs: Caller['pressesAs']; media: MediaOptions }[] = [
  { name: 'Anna', voice: 'slt', pressesAs: 'rfc4733', media: { codecs: ['PCMU'] } },
  { name: 'Ben', voice: 'rms', pressesAs: 'rfc4733', media: { codecs: ['PCMA'] } },
  { name: 'Cleo', voice: 'awb', pressesAs: 'inband', media: { codecs: ['PCMU'], telephoneEvent: false } },
]

/** The conference room behind the demo number. */
export async function demoRoom(rest: RestClient): Promise<string> {
  const routes = await rest.all('/inbound_routes')
  const route = routes.find(({ match }) => match.to === DEMO_NUMBER)
  if (route?.target.type !== 'room')
    throw new Error(`No inbound route leads from ${DEMO_NUMBER} to a room: this is no demo organisation.`)
  return route.target.id
}

/** Three phones dial the room and enter its PIN. */
export async function enterRoom(rest: RestClient, sip: SipAddress, roomId: string): Promise<Caller[]> {
  const callers: Caller[] = []
  for (const { name, voice, pressesAs, media } of ROLES) {
    const phone = await Phone.open(name.toLowerCase())
    const call = await phone.call(DEMO_NUMBER, sip, media)
    callers.push({ name, voice, pressesAs, phone, call, participantId: '', callId: '' })
  }
  // The greeting asks for the PIN, which may be entered before its end.
  await Promise.all(callers.map(({ call }) => call.heard.next(500)))
  await Promise.all(callers.map(({ call, pressesAs }) => call.press(DEMO_PIN, { as: pressesAs })))
  for (const caller of callers) {
    const member = await memberNamed(rest, roomId, caller.phone.name)
    caller.participantId = member.id
    caller.callId = member.call_id
  }
  return callers
}
