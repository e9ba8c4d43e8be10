import { memberNamed, untilQuiet } from '../members.ts'
import { keysIn } from '../phone/keypad.ts'
import type { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import type { RestClient } from '../rest-client.ts'
import { audibleSamples } from '../spectrum.ts'
import { audioOf, type ReceivedStream, type StreamTrack } from '../stream-receiver.ts'
import type { Caller } from './cast.ts'
import type { Show } from './show.ts'

const CARD = '4929123456789012'
const CODE = '737'

/** Where the pause begins and ends in each caller's audio and in the stream. */
interface Marks {
  heardFrom: number[]
  heardTo: number[]
  framesFrom: Record<StreamTrack, number>
  framesTo: Record<StreamTrack, number>
}

/** What the card payment left behind, for the checks after the call. */
interface Payment {
  line: PhoneCall
  marks: Marks
  /** Keys in the stream's messages before the pause, which prove that keys would be seen. */
  keysBefore: string
}

/** REST dials the payment line into the room, and pauses capture for it. The card is entered as RFC 4733 events and in-band; then REST resumes. */
export async function pay(
  rest: RestClient,
  roomId: string,
  callers: readonly Caller[],
  stream: ReceivedStream,
  terminal: Phone,
  show: Show,
): Promise<Payment> {
  show.title('A card payment')
  const [anna, , cleo] = callers as [Caller, Caller, Caller]
  const calls = callers.map(({ call }) => call)
  await anna.call.press('7')
  await untilQuiet(calls)
  const keysBefore = stream.keys
  const ringing = terminal.next()
  await rest.ok('POST', `/conference_rooms/${roomId}/participants`, { to: terminal.uri })
  const line = await ringing
  line.answer()
  const { id } = await memberNamed(rest, roomId, terminal.name)
  show.step('REST dialled the payment line into the room', terminal.uri)
  await untilQuiet([...calls, line])

  await rest.ok('POST', `/calls/${anna.callId}/pci`, { action: 'pause', destination_participant_id: id })
  show.step('REST paused capture and named it', `POST /calls/${anna.callId.slice(0, 8)}…/pci`)
  const framesFrom = framesOf(stream)
  const heardFrom = callers.map(({ call }) => call.heard.length)
  await anna.call.press(CARD, { as: 'rfc4733', gapMs: 60 })
  // Keys are relayed at the speed of a keypad, so the last ones are still on their way.
  await line.heard.next(400)
  await cleo.call.press(CODE, { as: 'inband' })
  await Promise.all(callers.map(({ call }) => call.heard.next(400)))
  show.step(`Anna typed ${CARD}`, 'telephone events, RFC 4733')
  show.step(`Cleo typed ${CODE}`, 'tones in her audio')
  const heardTo = callers.map(({ call }) => call.heard.length)
  const framesTo = framesOf(stream)
  await rest.ok('POST', `/calls/${anna.callId}/pci`, { action: 'resume' })
  show.step('REST resumed')
  return { line, marks: { heardFrom, heardTo, framesFrom, framesTo }, keysBefore }
}

const framesOf = ({ tracks }: ReceivedStream): Record<StreamTrack, number> => ({
  inbound: tracks.inbound.length,
  outbound: tracks.outbound.length,
})

/** Checks that the keys are nowhere where they must not be, and that the payment line heard them. */
export async function findLeaks(
  { line, marks, keysBefore }: Payment,
  callers: readonly Caller[],
  stream: ReceivedStream,
  rest: RestClient,
  recording: { channels: Int16Array[]; segments: { from_ms: number; to_ms: number }[] },
  show: Show,
): Promise<void> {
  show.line()
  const inLine = line.keysHeard + keysIn(line.heard.samples())
  show.check(inLine === CARD + CODE, 'the payment line heard every key', inLine)
  show.check(
    keysBefore === '7',
    'before the pause the stream showed a key',
    `"${keysBefore}", so the measurement is awake`,
  )

  const heard = callers.map(({ call }, i) => call.heard.samples(marks.heardFrom[i], marks.heardTo[i]))
  for (const [i, { name, call }] of callers.entries()) {
    leakCheck(show, `keys that leaked to ${name}`, call.keysHeard + keysIn(heard[i]!), heard[i]!)
  }
  leakCheck(show, 'keys that leaked into dtmf messages', stream.keys.slice(keysBefore.length))
  for (const track of ['inbound', 'outbound'] as const) {
    const audio = audioOf(stream, stream.tracks[track].slice(marks.framesFrom[track], marks.framesTo[track]))
    leakCheck(show, `keys that leaked into the stream, ${track}`, keysIn(audio), audio)
  }
  const { from_ms: from, to_ms: to } = recording.segments[0] ?? { from_ms: 0, to_ms: 0 }
  const recorded = recording.channels.map(samples => samples.slice(from * 8, to * 8))
  const inRecording = recording.channels.map(keysIn).join('').replace('7', '')
  leakCheck(show, 'keys that leaked into the recording', inRecording, ...recorded)
  leakCheck(show, 'keys that leaked into events', await keysInEvents(rest, callers))
}

/** Checks that there are no keys, and that all samples of the given audio are silence. */
function leakCheck(show: Show, claim: string, keys: string, ...silences: Int16Array[]): void {
  const traces = silences.reduce((sum, samples) => sum + audibleSamples(samples), 0)
  const audio = silences.length === 0 ? '' : `${traces} samples that are not silence`
  show.check(
    keys === '' && traces === 0,
    claim,
    [keys === '' ? 'none' : keys, audio].filter(text => text !== '').join(', '),
  )
}

/** Digits in the events of the pause, without the key before it and the masked PIN. */
async function keysInEvents(rest: RestClient, callers: readonly Caller[]): Promise<string> {
  const calls = new Set(callers.map(({ callId }) => callId))
  const events = await rest.all('/events?type=call.dtmf')
  return events
    .filter(({ data }) => calls.has(data.object.call_id))
    .map(({ data }) => data.object.digit)
    .join('')
    .replaceAll('*', '')
    .replace('7', '')
}
