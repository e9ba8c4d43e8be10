// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { samplesOf } from '../../../bench/voices.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../../media/speech/speech-protocol.ts'
import { Bot } from '../bot.ts'
import { callFrom, endedCall, heardOf, spokenTo } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { killAndWait } from '../witness.ts'

/** Allows offline models to load in two processes on a busy machine. */
const LOADING = { timeoutMs: 90_000 }

const silent = { info: () => {}, warn: () => {} }
const host = new SpeechHost(OFFLINE_SPEECH, silent as never)
/** The voices of the caller and, to compare, of the product. */
const caller = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))

const test = sharedSuite('e2e/speech/assistant')

test.after(() => host.close())

async function spoken(text: string): Promise<Int16Array> {
  const made = await caller.speak(text, null, null)
  if ('error' in made) throw new Error(made.error)
  return made.samples
}

/** Waits until this sentence was heard in the product's voice: a turn is reported while its answer is still being spoken. */
async function isHeard(sentence: string, heard: () => Int16Array): Promise<void> {
  const said = await spoken(sentence)
  let share = 0
  await product
    .until('what was said is heard', async () => {
      const found = heardOf(said, heard())
      share = found.share
      return found.isHeard ? true : null
    })
    .catch(() => assert.unreachable(`${(100 * share).toFixed(0)} % of "${sentence}"`))
}

/** Resolves with the turns of a call, oldest first, once there are `count`. */
const turnsOf = (callId: string, count: number) =>
  product.until(
    `${count} turns`,
    async () => {
      const turns = await product.all(`/calls/${callId}/turns`)
      return turns.length < count ? null : turns
    },
    40_000,
  )

test(
  'on a fresh machine: call the assistant, speak an English sentence, hear a fitting answer',
  async () => {
    const phone = await Phone.open('guest')
    const call = await phone.call('assistant', product.sip)
    const { id: callId } = await callFrom(product, 'guest')
    await turnsOf(callId, 1)
    const before = call.heard.length
    call.say(samplesOf(await spoken('When are you open on Saturday?')))
    const [greeting, question, answer] = await turnsOf(callId, 3)
    assert.match(greeting.turn.text, /Harbour Shop/)
    assert.match(question.turn.text.toLowerCase(), /open on saturday/)
    assert.match(answer.turn.text, /On Saturday we open from ten to two/)
    await isHeard(answer.turn.text, () => call.heard.samples(before))
    for (const part of ['endpoint_ms', 'transcribe_ms', 'first_token_ms', 'first_audio_ms']) {
      assert.type(answer.timing[part], 'number', part)
    }
    call.say(samplesOf(await spoken('Thank you, goodbye.')))
    assert.is((await endedCall(product, callId)).ended_reason, 'assistant_ended')
  },
  LOADING,
)

test(
  "kill -9 of control in an assistant's call: the call goes on, and the assistant answers the next line",
  async () => {
    const phone = await Phone.open('keeper')
    const call = await phone.call('assistant', product.sip)
    const { id: callId } = await callFrom(product, 'keeper')
    const question = samplesOf(await spoken('When are you open on Saturday?'))
    await spokenTo(product, call)
    const { media } = product.pids
    await killAndWait(product, 'control')
    await product.ready()
    assert.is(product.pids.media, media, 'media is the same process')
    const before = call.heard.length
    call.say(question)
    const turns = await turnsOf(callId, 3)
    assert.equal(
      turns.map(({ turn }) => [turn.role, turn.source]),
      [
        ['assistant', 'script'],
        ['customer', 'speech'],
        ['assistant', 'ai'],
      ],
    )
    assert.match(turns[2].turn.text, /On Saturday we open from ten to two/)
    await isHeard(turns[2].turn.text, () => call.heard.samples(before))
    assert.is((await product.ok('GET', `/calls/${callId}`)).status, 'in_progress')
    await call.hangup()
    assert.is((await endedCall(product, callId)).ended_reason, 'caller_hangup')
  },
  LOADING,
)

test(
  'a web call of a client token talks with its assistant over the call WebSocket, and uses the token up',
  async () => {
    const [assistant] = await product.all('/assistants')
    const ticket = await product.ok('POST', '/client_tokens', { assistant_id: assistant.id })
    const bot = await Bot.connect(ticket.ws_url, ticket.token)
    const { start } = await bot.until(message => message.event === 'start')
    const callId = start?.callSid ?? ''
    bot.speak(samplesOf(new Int16Array(0)))
    const [greeting] = await turnsOf(callId, 1)
    assert.match(greeting.turn.text, /Harbour Shop/)
    const before = bot.heard.length
    bot.speak(samplesOf(await spoken('When are you open on Saturday?')))
    const [, question, answer] = await turnsOf(callId, 3)
    assert.match(question.turn.text.toLowerCase(), /open on saturday/)
    assert.match(answer.turn.text, /On Saturday we open from ten to two/)
    await isHeard(answer.turn.text, () => Int16Array.from(bot.heard.slice(before).flatMap(frame => [...frame])))
    bot.speak(samplesOf(await spoken('Thank you, goodbye.')))
    const ended = await endedCall(product, callId)
    assert.equal([ended.direction, ended.ended_reason], ['inbound', 'assistant_ended'])
    await bot.close()
    const again = await Bot.connect(ticket.ws_url, ticket.token).catch((refused: { status: number }) => refused.status)
    assert.is(again, 401)
  },
  LOADING,
)

test(
  'hold.announce_position: callers are told their place in line',
  async () => {
    const hold = { announce_position: true, audio: 'silence', announcement: 'Thank you for calling the harbour shop.' }
    const { id } = await product.ok('POST', '/queues', { name: 'Line', hold })
    await product.ok('POST', '/inbound_routes', { match: { to: '1010' }, target: { type: 'queue', id } })
    const first = await (await Phone.open('first')).call('1010', product.sip)
    await callFrom(product, 'first')
    const second = await (await Phone.open('second')).call('1010', product.sip)
    await isHeard('You are next in line.', () => first.heard.samples())
    await isHeard('You are number two in line.', () => second.heard.samples())
    await isHeard('Thank you for calling the harbour shop.', () => second.heard.samples())
    await Promise.all([first.hangup(), second.hangup()])
  },
  LOADING,
)

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })

test(
  'the live path of a call with keys, over SIP, equals its simulation',
  async () => {
    const nodes = [
      { key: 'start', type: 'start', transitions: [to('menu')] },
      {
        key: 'menu',
        type: 'menu',
        script: 'Press one for the code, two to leave.',
        input: { modes: ['dtmf'] },
        transitions: [to('code', { kind: 'dtmf', digits: '1' }), to('bye', { kind: 'else' })],
      },
      { key: 'code', type: 'collect', script: 'The code.', save_as: 'code', transitions: [to('bye')] },
      { key: 'bye', type: 'end', script: 'Goodbye.' },
    ]
    const flow = await product.ok('POST', '/flows', { name: 'Keys', kind: 'ivr', graph: { kind: 'ivr', nodes } })
    await product.ok('POST', `/flows/${flow.id}/publish`, {})
    await product.ok('POST', '/inbound_routes', { match: { to: '1009' }, target: { type: 'flow', id: flow.id } })
    const simulated = await product.ok('POST', `/flows/${flow.id}/simulate`, { dtmf: '142#', version: 1 })
    const phone = await Phone.open('presser')
    const call = await phone.call('1009', product.sip)
    const { id: callId } = await callFrom(product, 'presser')
    const isAsked = async (key: string): Promise<void> => {
      await product.until(`it is at ${key}`, async () => {
        const { body } = await product.api('GET', `/calls/${callId}/flow_run`)
        return body.current_node_key === key ? true : null
      })
      await spokenTo(product, call)
    }
    await isAsked('menu')
    await call.press('1')
    await isAsked('code')
    await call.press('42#')
    assert.is((await endedCall(product, callId)).ended_reason, 'assistant_ended')
    const run = await product.ok('GET', `/calls/${callId}/flow_run`)
    for (const part of ['path', 'turns', 'actions', 'ended', 'end_reason', 'current_node_key']) {
      assert.equal(run[part], simulated[part], part)
    }
    assert.is(run.variables.code, '42')
  },
  LOADING,
)

test.run()
