import { readFileSync } from 'node:fs'
import { memberNamed } from '../../bench/members.ts'
import { type DialOptions, Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import type { Product } from '../../bench/product.ts'
import { audibleSamples } from '../../bench/spectrum.ts'
import { PCMU } from '../../codecs/g711.ts'
import { readWav } from '../../codecs/wav.ts'
import { giveBack } from './shared-product.ts'

/** A tone is sent at -12 dB of full scale, -15 dBov. It is heard above this level, and not heard below `UNHEARD_DBOV`. */
export const HEARD_DBOV = -20
export const UNHEARD_DBOV = -40

export interface TestRoom {
  roomId: string
  number: string
}

/** A prompt of the product, used as what somebody says. */
export function recorded(name: string): Int16Array {
  const wav = readWav(readFileSync(new URL(`../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}

/** A phone in a room. */
export interface Seated {
  phone: Phone
  call: PhoneCall
  /** `part_…` */
  participantId: string
  /** `call_…` of this phone. */
  callId: string
  sessionId: string
}

let nextNumber = 2000

/** Creates a room for one test, and a number that leads there. No chimes by default. */
export async function newRoom(product: Product, fields: object = {}, settings: object = {}): Promise<TestRoom> {
  const number = String(nextNumber++)
  const room = { name: `Room ${number}`, settings: { announce: false, ...settings }, ...fields }
  const { id } = await product.ok('POST', '/conference_rooms', room)
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id } })
  return { roomId: id, number }
}

/** Lets a phone call a room without PIN; resolves when it is in the room. */
export async function seat(product: Product, room: TestRoom, name: string, options: DialOptions = {}): Promise<Seated> {
  const phone = await Phone.open(name)
  const call = await phone.call(room.number, product.sip, options)
  return { phone, call, ...(await seatOf(product, room, name)) }
}

/** Resolves with what REST shows of a phone, as soon as it is in the room. */
export async function seatOf(
  product: Product,
  { roomId }: TestRoom,
  name: string,
): Promise<Pick<Seated, 'participantId' | 'callId' | 'sessionId'>> {
  const member = await memberNamed(product, roomId, name)
  return { participantId: member.id, callId: member.call_id, sessionId: member.session_call_id }
}

export const callsOf = (seated: readonly Seated[]): PhoneCall[] => seated.map(({ call }) => call)

const kept: { close(): unknown }[] = []

/** Closes something at the end of the file, since a test that fails does not. */
export function keep<T extends { close(): unknown }>(one: T): T {
  kept.push(one)
  return one
}

/** Ends a test file, also if its start failed: nothing stays open or running. */
export async function curtain(product: Product | undefined): Promise<void> {
  for (const one of kept.splice(0)) await one.close()
  await Phone.closeAll()
  if (!(await giveBack(product))) await product?.stop()
}

export async function leave(...seated: readonly { phone: Phone }[]): Promise<void> {
  await Promise.all(seated.map(({ phone }) => phone.close()))
}

/** A member of the organisation, and the account of its phones. @param fields of its invitation, such as `extension` */
export async function invited(
  product: Product,
  email: string,
  fields: object = {},
): Promise<{ userId: string; account: { username: string; password: string; registrar: string } }> {
  const { user_id: userId } = await product.ok('POST', '/invitations', { email, ...fields })
  await product.ok('PATCH', `/users/${userId}`, { status: 'active' })
  return { userId, account: await product.ok('POST', `/users/${userId}/sip_credential`) }
}

/** Dials a phone into a room over the API; resolves when it is in the room. */
export async function dialledIn(product: Product, room: TestRoom, name: string) {
  const phone = await Phone.open(name)
  const ringing = phone.next()
  await product.ok('POST', `/conference_rooms/${room.roomId}/participants`, { to: phone.uri })
  const call = await ringing
  call.answer()
  const { id: participantId } = await memberNamed(product, room.roomId, name)
  return { phone, call, participantId }
}

/** A phone at the organisation's payment number, +14155550142; card-payment mode is on. */
export async function paymentLine(product: Product): Promise<Phone> {
  const line = await Phone.open('line')
  const [host = '', port = ''] = line.uri.replace(/^sip:[^@]*@/, '').split(':')
  const trunk = await product.ok('POST', '/connections', { name: 'Bank', kind: 'trunk', host, port: Number(port) })
  const number = { number: '+14155550142', connection_id: trunk.id, payment_line: true }
  await product.ok('POST', '/phone_numbers', number)
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  return line
}

/** Sets up a payer's phone, the organisation's payment line over a trunk, card-payment mode, and a published flow that leads there. */
export async function shopWith(product: Product, graph: object) {
  const [phone, line] = [await Phone.open('payer'), await paymentLine(product)]
  const { id: flowId } = await product.ok('POST', '/flows', { name: 'Shop', kind: 'ivr', graph })
  await product.ok('POST', `/flows/${flowId}/publish`, {})
  return { phone, line, flowId: flowId as string }
}

/** Resolves with the call of the phone with this name, as REST shows it. */
export const callFrom = (product: Product, name: string) =>
  product.until(`a call from ${name}`, async () =>
    (await product.all('/calls')).findLast(({ from, kind }) => kind === 'party' && from.includes(`:${name}@`)),
  )

/**
 * Resolves when a phone that has heard nothing is spoken to. Where keys are to answer a question, this is the moment from which they do: that a
 * flow is at its node says only that the question comes next.
 */
export const spokenTo = (product: Product, call: PhoneCall) =>
  product.until('somebody speaks to it', async () => (audibleSamples(await call.heard.next(200)) > 400 ? true : null))

/** Resolves with the call once it has ended. */
export const endedCall = (product: Product, callId: string) =>
  product.until(`${callId} ends`, async () => {
    const call = await product.ok('GET', `/calls/${callId}`)
    return call.ended_at === null ? null : call
  })

/**
 * All audio that was sent to a G.711 phone, from a packet on, without gaps in time: after a stall of the machine of more than 100 ms, playback
 * continues where it stopped.
 */
export const octetsSent = ({ packets }: Pick<PhoneCall, 'packets'>, from = 0): Uint8Array =>
  Buffer.concat(packets.slice(from).flatMap(({ payload, payloadType }) => (payloadType === 0 ? [payload] : [])))

/** A part of `heard` that is also in `said`, octet by octet: where it begins there, and its length [samples]. */
interface Copy {
  from: number
  length: number
}

/** Finds all copies by frames of 160 octets, so `said` must be noise or speech, in which no frame repeats. */
function* copies(said: Uint8Array, heard: Uint8Array): Generator<Copy> {
  const index = Buffer.from(said.buffer, said.byteOffset, said.length)
  for (let at = 0; at + 160 <= heard.length; ) {
    const from = index.indexOf(heard.subarray(at, at + 160))
    let length = 0
    while (from >= 0 && from + length < said.length && heard[at + length] === said[from + length]) length++
    if (length > 0) yield { from, length }
    at += Math.max(160, length)
  }
}

/** Length of the longest part of `heard` that is in `said` [samples]. */
export const longestCopy = (said: Uint8Array, heard: Uint8Array): number =>
  Math.max(0, ...[...copies(said, heard)].map(({ length }) => length))

/** Share of `said` that was heard, octet by octet, in parts of at least a frame: 0 to 1. */
function shareHeard(said: Uint8Array, heard: Uint8Array): number {
  const covered = new Uint8Array(said.length)
  for (const { from, length } of copies(said, heard)) covered.fill(1, from, from + length)
  return covered.reduce((sum, one) => sum + one, 0) / said.length
}

/** Minimum share of a sentence that was heard: a voice says it slightly differently after another one. Of another sentence, at most a quarter matches. */
const HEARD_SHARE = 0.4

/** Share of what a voice `said` in what was `heard`, 0 to 1, and whether that counts as the whole sentence. */
export function heardOf(said: Int16Array, heard: Int16Array): { share: number; isHeard: boolean } {
  const share = shareHeard(ulaw(said), ulaw(heard))
  return { share, isHeard: share > HEARD_SHARE }
}

function ulaw(samples: Int16Array): Uint8Array {
  const octets = new Uint8Array(samples.length)
  PCMU.encode(samples, octets)
  return octets
}
