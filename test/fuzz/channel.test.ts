// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import {
  encodeMessage,
  MAX_MESSAGE_BYTES,
  type OwnCommandName,
  PROTOCOL_VERSION,
  type Request,
} from '../../media/protocol.ts'
import { suite } from '../harness.ts'
import { BareMedia, type RawControl } from './bare-media.ts'
import { echoWitness, Health } from './health.ts'
import { Random } from './random.ts'

const test = suite('fuzz/channel')
const TIMEOUT = { timeoutMs: 60_000 }

let media: BareMedia
let phone: Phone
let health: Health

test.before(async () => {
  media = await BareMedia.start()
  phone = await Phone.open('caller')
  health = new Health(echoWitness(media.sip), () => ({ media: media.alive ? media.pid : 0 }))
  await checkWithNewControl('before all')
})
test.after(async () => {
  await phone?.close()
  await media?.stop()
})

/** Checks that a new control process can connect, and that the next call is flawless. */
async function checkWithNewControl(label: string): Promise<void> {
  assert.ok(media.alive, `${label}: the media process is alive\n${media.output.slice(-2000)}`)
  const control = media.connect()
  control.hello()
  control.answerAll()
  await health.check(label)
  control.close()
}

/** JSON values that no command expects in any place. */
const ODD: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  1.5,
  '',
  'x',
  'x'.repeat(100_000),
  '\0',
  '../../../etc/passwd',
  'sip:a@b\r\nX-Injected: yes',
  'sip:',
  '__proto__',
  'constructor',
  [],
  [null],
  [[[[]]]],
  {},
  { legId: {} },
  { roomId: [] },
  { toString: null, length: -1 },
]

const room: Request<'leg.answer'>['room'] = {
  roomId: 'room_fuzz',
  kind: 'call',
  chimes: true,
  musicWhenAlone: true,
  maxMembers: 10,
}

const listen: Request<'leg.listen'>['listen'] = {
  listenId: 'listen',
  language: 'en',
  endOfSpeechMs: 700,
  maxUtteranceMs: 30_000,
  bargeIn: { afterMs: 200, resume: true, backChannels: ['mm-hm'] },
}

/** A valid body for every command, for an existing leg. */
const bodies = (legId: string, n: number): { [N in OwnCommandName]: Request<N> } => ({
  'leg.answer': { legId, room, affinity: 'one', codecs: ['PCMU'] },
  'leg.ring': { legId },
  'speech.speak': { affinity: 'one', text: 'Hello.', voice: 'slt', language: null },
  'leg.challenge': { legId, algorithm: 'SHA-256' },
  'leg.pass_on': { legId, node: '127.0.0.1:5060', proven: null },
  'leg.verify': { legId, from: ['15550100100'], to: ['15550100200'] },
  'leg.check_caller': { legId, ha1: null },
  'leg.reject': { legId, sipCode: 486, retryAfterS: 5, reason: 'busy' },
  'leg.reserve': { legId: `dialled_${n}` },
  'leg.release': { legId: `dialled_${n}` },
  'leg.dial': {
    legId: `dialled_${n}`,
    target: {
      uri: 'sip:nobody@127.0.0.1:9',
      from: { uri: 'sip:me@127.0.0.1' },
      hosts: [{ host: '127.0.0.1', port: 9, transport: 'udp' }],
      publicOnly: false,
      credentials: { username: 'u', password: 'p' },
      codecs: ['PCMU'],
    },
    room: { ...room, roomId: `room_dialled_${n}` },
    affinity: 'one',
    timeoutS: 1,
  },
  'leg.redirect_answer': { legId, redirectId: 'redir_1', to: ['sip:b@127.0.0.1'], reason: 'redirect_refused' },
  'leg.refer_answer': { legId, referId: 'xfer_1', sipCode: 202 },
  'leg.refer_notify': { legId, referId: 'xfer_1', sipCode: 180 },
  'leg.refer_join': { legId, referId: 'xfer_1', account: 'live-1', timeoutS: 1 },
  'leg.refer_bridge': {
    legId,
    referId: 'xfer_1',
    target: {
      uri: 'sip:nobody@127.0.0.1:9',
      from: { uri: 'sip:me@127.0.0.1' },
      hosts: [],
      publicOnly: false,
      credentials: null,
      codecs: ['PCMU'],
      replaces: 'c;to-tag=a;from-tag=b',
      referredBy: '<sip:me@127.0.0.1>',
    },
    timeoutS: 1,
  },
  'leg.refer': { legId, referId: 'xfer_2', to: 'sip:nobody@127.0.0.1:9', inPlaceOf: null },
  'leg.replace': { legId, byLegId: 'part_of_nobody' },
  'leg.hangup': { legId, reason: 'api_hangup' },
  'leg.move': {
    legId,
    room,
    mustExist: false,
    muted: false,
    payment: { maxSeconds: 60, reason: 'payment', maskDtmf: true },
  },
  'leg.update': { legId, muted: true, deaf: false },
  'leg.read': { legIds: [legId] },
  'leg.play': {
    legId,
    playId: 'play',
    sources: [{ kind: 'silence', ms: 20 }, { kind: 'tone', name: 'beep' }, { kind: 'music' }],
    loop: false,
    hangupAfter: null,
  },
  'leg.stop_play': { legId },
  'leg.collect': {
    legId,
    collectId: 'collect',
    prompts: [{ kind: 'prompt', name: 'enter-pin' }],
    maxDigits: 4,
    terminators: '#',
    firstDigitTimeoutMs: 1000,
    interDigitTimeoutMs: 1000,
    sensitive: true,
    speech: listen,
    playThrough: false,
  },
  'leg.send_dtmf': { legId, digits: '12', durationMs: 100 },
  'room.play': { roomId: `call_${legId}`, sources: [{ kind: 'file', path: '/nowhere.wav' }], loop: true },
  'room.close': { roomId: 'room_other', reason: 'api_hangup' },
  'capture.pause': { target: { legId }, maxSeconds: 1, reason: 'card', maskDtmf: true, destinationLegId: null },
  'capture.direct': { target: { legId }, destinationLegId: legId },
  'capture.resume': { target: { legId } },
  'stream.start': {
    streamId: `stream_${n}`,
    target: { legId },
    url: 'ws://127.0.0.1:9/x',
    tracks: 'both',
    format: 'mulaw_8000',
    customParameters: { a: 'b' },
    accountSid: 'org',
    callSid: 'call',
    signingSecret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
    addresses: { publicOnly: true, allowed: ['127.0.0.0/8'] },
  },
  'stream.stop': { streamId: `stream_${n}` },
  'stream.read': { streamIds: [`stream_${n}`] },
  'recording.start': { recordingId: `call_fuzz${n}`, target: { legId } },
  'recording.pause': { recordingId: `call_fuzz${n}` },
  'recording.resume': { recordingId: `call_fuzz${n}` },
  'recording.stop': { recordingId: `call_fuzz${n}` },
  'leg.hold': { legId, held: true, sources: [{ kind: 'music' }] },
  'leg.listen': { legId, listen },
  'leg.stop_listen': { legId },
  'transcript.start': { transcriptId: `call_fuzz${n}`, target: { legId }, language: 'en' },
  'transcript.stop': { transcriptId: `call_fuzz${n}` },
  'sip.register_check': { registerId: 'reg_1', ha1: null },
  'sip.register_reply': {
    registerId: 'reg_1',
    sipCode: 200,
    contacts: [{ uri: 'sip:a@127.0.0.1', expiresS: 60 }],
    minExpiresS: null,
  },
  'sip.keep_open': {
    phones: [{ uri: 'sip:a@127.0.0.1:9', transport: 'udp', host: '127.0.0.1', port: 9, expiresS: 60 }],
  },
  'leg.trace_packets': { legId, seconds: 1 },
  'sip.trace_read': { legId },
  'sip.trace_take': { done: [legId] },
  'sources.set': { networks: ['127.0.0.0/8'], strangers: 'challenged' },
  'sip.ask_check': { askId: 'ask_1', ha1: null },
  'sip.ask_reply': {
    askId: 'ask_1',
    sipCode: 200,
    about: 'dialog usr_1',
    state: { package: 'dialog', dialogs: [{ id: 'ring_1', direction: 'recipient', state: 'early' }] },
  },
  'sip.notify': { subscriptionId: 'sub_1', state: { package: 'message-summary', waiting: 1, heard: 0 } },
  'sip.subscriptions': {},
  'sip.message': {
    messageId: 'msg_1',
    uri: 'sip:a@127.0.0.1:9',
    from: 'sip:b@127.0.0.1',
    via: { transport: 'udp', host: '127.0.0.1', port: 9 },
    text: 'hello',
  },
  'connections.set': {
    connections: [
      {
        connectionId: 'conn_1',
        keep: 'ping',
        uri: 'sip:127.0.0.1:9',
        from: 'sip:a@127.0.0.1',
        via: { host: '127.0.0.1', port: 9, transport: 'udp' },
        others: [],
        credentials: null,
        contactUser: 'c1',
      },
    ],
  },
  'browser.close': { browserId: 'web_1', code: 1000, reason: 'over' },
  'browser.refuse': { browserId: 'web_1', status: 401, body: { error: {} } },
  'browser.admit': { browserId: 'web_1', as: 'call', legId: `web_${n}`, accountSid: 'org_1', phone: null },
  'browser.send': { browserId: 'web_1', body: { event: 'control' } },
  'media.snapshot': {},
  'media.stats': {},
})

type Path = (string | number)[]

/** The paths of all places in a JSON value, including the whole. */
function places(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))]
}

/** A copy with another value at one place; `undefined` leaves the place out. */
function withOdd(value: unknown, [key, ...rest]: Path, odd: unknown): unknown {
  if (key === undefined) return odd
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = withOdd(copy[key], rest, odd)
  return copy
}

/** Answers the next incoming call. @returns the ID of its leg */
async function nextLeg(control: RawControl): Promise<string> {
  const seen = control.messages.length
  const find = (): string | undefined =>
    control.messages.slice(seen).flatMap(message => {
      const event = message.event as { name: string; body: { legId: string } } | undefined
      return event?.name === 'leg.answered' ? [event.body.legId] : []
    })[0]
  await control.until(() => control.closed || find() !== undefined)
  const legId = find()
  if (legId === undefined) throw new Error('the channel closed before the call was answered')
  return legId
}

test(
  'frames with bad lengths, no JSON, no object or unknown types cost their connection at most',
  async () => {
    const random = new Random(301)
    const hello = encodeMessage({ type: 'hello', version: PROTOCOL_VERSION, bootId: null, lastSeq: 0 })
    const framed = (text: string): Buffer => {
      const json = Buffer.from(text, 'latin1')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(json.length)
      return Buffer.concat([length, json])
    }
    const tooLong = Buffer.alloc(4)
    tooLong.writeUInt32BE(MAX_MESSAGE_BYTES + 1)
    const frames = [
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      Buffer.from([0, 0, 0, 0]),
      tooLong,
      ...['', 'null', '[]', '1', '{', '{"type":', '\xff\xfe', '{}', '{"type":null}', '{"type":"hello"}'].map(framed),
      ...[
        '{"type":"hello","version":99}',
        '{"type":"ack"}',
        '{"type":"ack","seq":-1}',
        '{"type":"ack","seq":1e99}',
      ].map(framed),
      ...['{"type":"request"}', '{"type":"request","id":1}', '{"type":"request","id":"1","name":1}'].map(framed),
      ...['{"type":"reply","id":1}', '{"type":"event","seq":1}', `{"type":"${'x'.repeat(100_000)}"}`].map(framed),
      framed(`${'['.repeat(200_000)}`),
      framed(`{"type":"request","id":1,"name":"leg.read","body":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
      framed('{"type":"request","id":1,"name":"__proto__","body":{}}'),
      framed('{"type":"request","id":1,"name":"toString","body":{}}'),
    ]
    for (const frame of frames) {
      for (const greets of [true, false]) {
        const control = media.connect()
        if (greets) control.write(hello)
        control.write(frame)
        control.write(hello)
        await control.until(() => control.closed || control.messages.length > 0)
        control.close()
      }
    }
    for (let n = 0; n < 200; n++) {
      const control = media.connect()
      control.write(random.mutate(Buffer.concat([hello, hello, encodeMessage({ type: 'ack', seq: 1 })])))
      control.write(hello)
      if (n % 4 === 0) await control.until(() => control.closed || control.messages.length > 0)
      control.close()
    }
    await checkWithNewControl(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test(
  'every command with a wrong type, an odd value or a hole at every place is answered',
  async () => {
    const random = new Random(302)
    const control = media.connect()
    control.hello()
    control.answerAll()
    let n = 0
    for (const name of Object.keys(bodies('', 0)) as OwnCommandName[]) {
      const answered = nextLeg(control)
      const call = await phone.call('1002', media.sip)
      const legId = await answered
      const asked: Promise<void>[] = []
      for (const path of places(bodies(legId, 0)[name])) {
        const odds = [undefined, random.pick(ODD), random.pick(ODD), random.pick(ODD), random.pick(ODD), null]
        for (const odd of odds) {
          const body = withOdd(bodies(legId, ++n)[name], path, odd)
          const label = `seed ${random.seed}: ${name} with ${JSON.stringify(odd)?.slice(0, 40)} at ${path.join('.')}`
          const ask = control.ask(name, body).then(reply => assert.ok(reply !== null && media.alive, label))
          await Promise.race([ask, call.ended])
          asked.push(ask)
        }
      }
      await Promise.all(asked)
      await call.hangup()
    }
    control.close()
    await checkWithNewControl(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test.run()
