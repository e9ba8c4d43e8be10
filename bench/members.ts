import type { PhoneCall } from './phone/phone-call.ts'
import type { RestClient } from './rest-client.ts'
import { audibleSamples } from './spectrum.ts'

const QUIET_MS = 300
const MAX_TRIES = 40

/** A participant of a conference room, as REST shows it. */
export interface Member {
  id: string
  call_id: string
  session_call_id: string
  address: string
  status: string
  role: string
  muted: boolean
  deaf: boolean
}

/** The members of the room now. */
async function membersOf(rest: RestClient, roomId: string): Promise<Member[]> {
  const members: Member[] = await rest.all(`/conference_rooms/${roomId}/participants`)
  return members.filter(({ status }) => status === 'joined')
}

/** Resolves with the participant of that phone as soon as it is in the room. */
export const memberNamed = (rest: RestClient, roomId: string, name: string): Promise<Member> =>
  rest.until(`${name} is in the room`, async () =>
    (await membersOf(rest, roomId)).find(({ address }) => address.includes(`:${name}@`)),
  )

/** Waits until greeting, chimes and music are over, so that none of the phones hears anything. */
export async function untilQuiet(calls: readonly PhoneCall[]): Promise<void> {
  for (const call of calls) {
    for (let tries = 0; audibleSamples(await call.heard.next(QUIET_MS)) > 0; tries++) {
      if (tries > MAX_TRIES) throw new Error('a phone hears something although nobody speaks')
    }
  }
}
