import { readFileSync } from 'node:fs'
import { memberNamed } from '../../bench/members.ts'
import { type DialOptions, Phone } from '../../bench/phone/phone.ts'
import type { PhoneCall } from '../../bench/phone/phone-call.ts'
import type { Product } from '../../bench/product.ts'
import { PCMU } from '../../codecs/g711.ts'
import { readWav } from '../../codecs/wav.ts'
import { giveBack } from './shared-product.ts'

/** A tone is sent at -12 dB of full scale: -15 dBov. Louder than this is heard, below `UNHEARD_DBOV` is not. */
export const HEARD_DBOV = -20
export const UNHEARD_DBOV = -40

export interface TestRoom {
  roomId: string
  number: string
}

/** A prompt of the product, which serves as somebody's words. */
export function recorded(name: string): Int16Array {
  const wav = readWav(readFileSync(new URL(`../../fixtures/prompts/${name}.wav`, import.meta.url)))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}

/** One who is seated in a room. */
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

/** A room of its own for one test, and a number that leads there. No chimes unless asked for. */
export async function newRoom(product: Product, fields: object = {}, settings: object = {}): Promise<TestRoom> {
  const number = String(nextNumber++)
  const room = { name: `Room ${number}`, settings: { announce: false, ...settings }, ...fields }
  const { id } = await product.ok('POST', '/conference_rooms', room)
  await product.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id } })
  return { roomId: id, number }
}

/** A phone calls a room without PIN and is in it. */
export async function seat(product: Product, room: TestRoom, name: string, options: DialOptions = {}): Promise<Seated> {
  const phone = await Phone.open(name)
  const call = await phone.call(room.number, product.sip, options)
  return { phone, call, ...(await seatOf(product, room, name)) }
}

/** What REST knows of a phone that is, or soon will be, in a room. */
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

/** Closed at the end of the file: a test that fails does not get to it. */
export function keep<T extends { close(): unknown }>(one: T): T {
  kept.push(one)
  return one
}

/** The end of a test file, also when its start failed: nothing stays open or running. */
export async function curtain(product: Product | undefined): Promise<void> {
  for (const one of kept.splice(0)) await one.close()
  await Phone.closeAll()
  if (!(await giveBack(product))) await product?.stop()
}

export async function leave(...seated: readonly { phone: Phone }[]): Promise<void> {
  await Promise.all(seated.map(({ phone }) => phone.close()))
}

/** Somebody whom the API has dialled into a room, once it is seated. */
export async function dialledIn(product: Product, room: TestRoom, name: string) {
  const phone = await Phone.open(name)
  const ringing = phone.next()
  await product.ok('POST', `/conference_rooms/${room.roomId}/participants`, { to: phone.uri })
  const call = await ringing
  call.answer()
  const { id: participantId } = await memberNamed(product, room.roomId, name)
  return { phone, call, participantId }
}

/** A payer; the organisation's payment line, reached over a trunk, with card-payment mode on; and a published flow that leads there. */
export async function shopWith(product: Product, graph: object) {
  const [phone, line] = [await Phone.open('payer'), await Phone.open('line')]
  const [host = '', port = ''] = line.uri.replace(/^sip:[^@]*@/, '').split(':')
  const trunk = await product.ok('POST', '/connections', { name: 'Bank', kind: 'trunk', host, port: Number(port) })
  const number = { number: '+14155550142', connection_id: trunk.id, payment_line: true }
  await product.ok('POST', '/phone_numbers', number)
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
  const { id: flowId } = await product.ok('POST', '/flows', { name: 'Shop', kind: 'ivr', graph })
  await product.ok('POST', `/flows/${flowId}/publish`, {})
  return { phone, line, flowId: flowId as string }
}

/** The call of a phone by its name, as REST shows it. */
export const callFrom = (product: Product, name: string) =>
  product.until(`a call from ${name}`, async () =>
    (await product.all('/calls')).findLast(({ from, kind }) => kind === 'party' && from.includes(`:${name}@`)),
  )

/** The call once it is over. */
export const endedCall = (product: Product, callId: string) =>
  product.until(`${callId} ends`, async () => {
    const call = await product.ok('GET', `/calls/${callId}`)
    return call.ended_at === null ? null : call
  })

/**
 * All audio that was sent to a G.711 phone, packet by packet, from a packet on. Holes that the machine leaves when it stops for more than 100 ms
 * are left out: playback continues after them where it stopped.
 */
export const octetsSent = ({ packets }: Pick<PhoneCall, 'packets'>, from = 0): Uint8Array =>
  Buffer.concat(packets.slice(from).flatMap(({ payload, payloadType }) => (payloadType === 0 ? [payload] : [])))

/** A stretch of `heard` that stands in `said` too, octet by octet: where it begins there, and how long it is [samples]. */
interface Copy {
  from: number
  length: number
}

/** Found by frames of 160 octets that are no repetition, so `said` must be noise or speech. */
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

/** The longest stretch of `heard` that stands in `said` at one shift [samples]. */
export const longestCopy = (said: Uint8Array, heard: Uint8Array): number =>
  Math.max(0, ...[...copies(said, heard)].map(({ length }) => length))

/** How much of `said` was heard, octet by octet, in stretches of a frame at least: 0 to 1. */
function shareHeard(said: Uint8Array, heard: Uint8Array): number {
  const covered = new Uint8Array(said.length)
  for (const { from, length } of copies(said, heard)) covered.fill(1, from, from + length)
  return covered.reduce((sum, one) => sum + one, 0) / said.length
}

/** Of the octets of a sentence; a voice says it a little otherwise after another one. Of another sentence it is a quarter at most. */
const HEARD_SHARE = 0.4

/** How much of what a voice `said` is in what was `heard`, 0 to 1, and whether that is the whole sentence. */
export function heardOf(said: Int16Array, heard: Int16Array): { share: number; isHeard: boolean } {
  const share = shareHeard(ulaw(said), ulaw(heard))
  return { share, isHeard: share > HEARD_SHARE }
}

function ulaw(samples: Int16Array): Uint8Array {
  const octets = new Uint8Array(samples.length)
  PCMU.encode(samples, octets)
  return octets
}
