/** `npm run demo`: real calls through the product, and what everybody heard. Exit code 1 if a check fails. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { readWav, wavHeader } from '../../codecs/wav.ts'
import { memberNamed, untilQuiet } from '../members.ts'
import { durationMs } from '../phone/keypad.ts'
import { Phone } from '../phone/phone.ts'
import type { RestClient } from '../rest-client.ts'
import { audioOf, type ReceivedStream, StreamReceiver } from '../stream-receiver.ts'
import { type Caller, DEMO_NUMBER, DEMO_PIN, demoRoom, enterRoom } from './cast.ts'
import { findHost, type Host } from './host.ts'
import { greet, HEARD } from './listening.ts'
import { findLeaks, pay } from './payment.ts'
import { Show } from './show.ts'
import { type Line, likeness, Speech } from './voices.ts'

const OUT = resolve('demo-out')
const show = new Show(text => process.stdout.write(text))
const startedAt = performance.now()
const speech = new Speech()

interface Recording {
  channels: Int16Array[]
  participantIds: string[]
  segments: { from_ms: number; to_ms: number }[]
}

function writeWav(name: string, samples: Int16Array[], sampleRateHz = 8000): void {
  const channels = samples.length
  const data = new Int16Array(samples[0]!.length * channels)
  for (const [c, channel] of samples.entries())
    for (let i = 0; i < channel.length; i++) data[i * channels + c] = channel[i]!
  const header = wavHeader({ sampleRateHz, channels, dataBytes: data.byteLength })
  writeFileSync(join(OUT, name), Buffer.concat([header, new Uint8Array(data.buffer)]))
}

/** Resolves with the session's recording once it is ready. */
async function fetchRecording(rest: RestClient, sessionId: string): Promise<Recording> {
  const ready = await rest.until('the recording is ready', async () => {
    const recording = await rest.ok('GET', `/calls/${sessionId}/recording`)
    return recording.status === 'recording' ? null : recording
  })
  const file = await rest.download(`/calls/${sessionId}/recording/content`)
  writeFileSync(join(OUT, 'recording.wav'), file)
  const wav = readWav(file)
  if ('error' in wav) throw new Error(`the recording is no WAV file: ${wav.error}`)
  const participantIds = ready.channels.map((channel: { participant_id: string }) => channel.participant_id)
  return { channels: wav.samples, participantIds, segments: ready.segments }
}

function checkStream(stream: ReceivedStream, counts: { frames_sent: number; frames_dropped: number }): void {
  show.title('The stream receiver: both tracks of the call of Anna')
  const { inbound, outbound } = stream.tracks
  const received = inbound.length + outbound.length
  show.table([
    ['', 'frames sent', 'received', 'dropped'],
    ['20 ms each', counts.frames_sent, received, counts.frames_dropped].map(String),
  ])
  show.line()
  const isWhole = [inbound, outbound].every(frames => frames.every(({ chunk }, i) => chunk === i + 1))
  show.check(counts.frames_sent === received && counts.frames_dropped === 0, 'every frame arrived')
  show.check(isWhole, 'chunk numbers have no gap')
  show.check(stream.stopped, 'the receiver was told that the call ended')
}

function checkRecording(recording: Recording, lines: readonly Line[]): void {
  show.title('The recording: a channel for each participant')
  for (const { caller, samples } of lines) {
    const channel = recording.channels[recording.participantIds.indexOf(caller.participantId)] ?? new Int16Array(0)
    const part = likeness(samples, channel)
    show.check(
      part > HEARD,
      `${caller.name}'s channel holds what ${caller.name} said`,
      `${part.toFixed(2)}, ${durationMs(channel) / 1000} s`,
    )
  }
  const segments = recording.segments.map(({ from_ms, to_ms }) => `${from_ms / 1000} to ${to_ms / 1000} s`)
  show.check(segments.length === 1, 'one pause, kept as silence', segments.join(', '))
}

/** Runs the whole demo in one room. */
async function perform({ rest, sip }: Host, receiver: StreamReceiver): Promise<void> {
  const roomId = await demoRoom(rest)
  const callers = await enterRoom(rest, sip, roomId)
  show.step(`Anna, Ben and Cleo called ${DEMO_NUMBER} and typed ${DEMO_PIN}`, 'PCMU, PCMA, PCMU with keys as tones')
  const calls = callers.map(({ call }) => call)
  const [anna, ben] = callers as [Caller, Caller, ...Caller[]]
  const session = (await memberNamed(rest, roomId, 'anna')).session_call_id
  const asked = { url: receiver.url, tracks: 'both', format: 'mulaw_8000' }
  const { id: streamId } = await rest.ok('POST', `/calls/${anna.callId}/streams`, asked).catch((error: Error) => {
    throw new Error(`${error.message} (start it with TANDEM_ALLOW_PRIVATE_URLS=127.0.0.0/8)`)
  })
  const stream = await receiver.stream(streamId)
  show.step('A WebSocket receiver gets the call of Anna', 'mulaw_8000, both tracks')

  await untilQuiet(calls)
  const lines = await greet(callers, speech, show)
  await untilQuiet(calls)

  const terminal = await Phone.open('terminal')
  await speech.say(ben, 'Anna, I pause the recording now. Please type your card number.')
  const payment = await pay(rest, roomId, callers, stream, terminal, show)
  await speech.say(anna, 'That is my card. Thank you for your help, and goodbye.')
  await Promise.all([...callers.map(({ phone }) => phone), terminal].map(phone => phone.close()))
  await receiver.until(() => (stream.stopped ? true : undefined))
  const counts = await rest.until('the stream has ended', async () => {
    const shown = await rest.ok('GET', `/calls/${anna.callId}/streams/${streamId}`)
    return shown.status === 'stopped' ? shown : null
  })
  const recording = await fetchRecording(rest, session)

  await findLeaks(payment, callers, stream, rest, recording, show)
  checkStream(stream, counts)
  checkRecording(recording, lines)
  for (const { name, call } of callers) writeWav(`${name.toLowerCase()}-heard.wav`, [call.heard.samples()])
  writeWav('payment-line-heard.wav', [payment.line.heard.samples()])
  writeWav('stream.wav', tracksOf(stream))
}

/** Both tracks as channels of equal length. */
function tracksOf(stream: ReceivedStream): Int16Array[] {
  const tracks = [audioOf(stream, stream.tracks.inbound), audioOf(stream, stream.tracks.outbound)]
  const length = Math.min(...tracks.map(track => track.length))
  return tracks.map(track => track.slice(0, length))
}

mkdirSync(OUT, { recursive: true })
show.title('Tandem demo: three callers, a stream receiver and a card payment.')
let host: Host | null = null
const receiver = await StreamReceiver.listen()
try {
  host = await findHost(process.env)
  const where = `sip:${host.sip.host}:${host.sip.port}, ${host.rest.baseUrl}/docs`
  show.step(host.isOwn ? 'Tandem was started for this demo' : 'Tandem is running already', where)
  await perform(host, receiver)
} catch (error) {
  show.check(false, 'the demo ran to its end', error instanceof Error ? error.message : String(error))
}
await Phone.closeAll()
await host?.leave()
await speech.close()
await receiver.close()
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
show.line()
show.line(
  show.failures === 0
    ? `All is as it must be (${seconds} s). Listen: what each heard is in ${relative('.', OUT)}/*.wav`
    : `${show.failures} of the above ${show.failures === 1 ? 'is' : 'are'} not as it must be (${seconds} s).`,
)
process.exit(show.failures === 0 ? 0 : 1)
