// Judges timing: it compares audio sample by sample, and when it arrives.
import * as assert from 'uvu/assert'
import { levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { Bot } from '../bot.ts'
import { endedCall, HEARD_DBOV, leave, newRoom, type Seated, seat, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/browsers/browser-wire')
const SLOW = { timeoutMs: 60_000 }
const BOT_HZ = 440
const PHONE_HZ = 700

interface Ticket {
  ws_url: string
  client_token: string
  call_id: string
}

interface Answer {
  error?: { param: string | null; details?: { tries_left?: number } }
  client_token?: string
}

/** Requests a ticket, as the guest page does. */
async function ticketFor(joinUrl: string, body: object): Promise<Ticket> {
  const response = await fetch(joinUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw { status: response.status, body: answer }
  return answer as Ticket
}

async function linkOf(roomId: string): Promise<string> {
  return (await product.ok('POST', `/conference_rooms/${roomId}/links`)).join_url
}

/** Puts a bot and a phone into a room of their own. */
async function together(): Promise<{ bot: Bot; phone: Seated; ticket: Ticket }> {
  const room = await newRoom(product)
  const phone = await seat(product, room, 'phone')
  const ticket = await ticketFor(await linkOf(room.roomId), { name: 'Botty' })
  const bot = await Bot.connect(ticket.ws_url, ticket.client_token)
  await product.until('the bot is seated', async () => {
    const { data } = await product.ok('GET', `/conference_rooms/${room.roomId}/participants`)
    return data.some((one: { address: string; status: string }) => one.address === 'Botty' && one.status === 'joined')
      ? true
      : null
  })
  return { bot, phone, ticket }
}

/** Whether a tone is heard for half a second without a gap, within some seconds: a busy machine causes gaps. */
async function hears(hz: number, listen: (ms: number) => Promise<Int16Array>): Promise<boolean> {
  for (let tries = 0; tries < 10; tries++) if (levelAt(hz, await listen(500)) > HEARD_DBOV) return true
  return false
}

const hearsBot = ({ call }: Seated): Promise<boolean> => hears(BOT_HZ, ms => call.heard.next(ms))

const refusalOf = async (attempt: Promise<unknown>): Promise<[number, string]> => {
  try {
    await attempt
  } catch (error) {
    const { status, body } = error as { status: number; body: { error: { code: string } } }
    return [status, body.error.code]
  }
  throw new Error('it was let in')
}

test(
  'a browser leg is in a room like any other: it is heard, hears the others and not itself',
  async () => {
    const { bot, phone, ticket } = await together()
    const { start } = await bot.until(message => message.event === 'start')
    assert.equal([start?.callSid, start?.mediaFormat.sampleRate], [ticket.call_id, 8000])
    bot.speak(tone(BOT_HZ))
    phone.call.say(tone(PHONE_HZ))
    await bot.listen(1000)
    const from = bot.heard.length
    assert.ok(await hearsBot(phone), 'the phone hears the bot')
    assert.ok(await hears(PHONE_HZ, ms => bot.listen(ms)), 'the bot hears the phone')
    const atBot = Int16Array.from(bot.heard.slice(from).flatMap(frame => [...frame]))
    assert.ok(levelAt(BOT_HZ, atBot) < UNHEARD_DBOV, `the bot hears ${levelAt(BOT_HZ, atBot)} dBov of itself`)
    const { quality } = await product.ok('GET', `/calls/${ticket.call_id}`)
    assert.ok(quality[0].packets_received > 50 && quality[0].mos > 3, JSON.stringify(quality))
    bot.send({ event: 'stop' })
    await product.until('the bot is told', async () => (bot.closed === null ? null : true))
    assert.is(bot.closed?.code, 1000)
    assert.is((await endedCall(product, ticket.call_id)).ended_reason, 'caller_hangup')
    await leave(phone)
  },
  SLOW,
)

test(
  'what a bot sends faster than it can be spoken is played in turn; a mark comes back when it was heard, all at once after clear',
  async () => {
    const { bot, phone } = await together()
    bot.queue(tone(BOT_HZ), 1000)
    bot.send({ event: 'mark', mark: { name: 'first' } })
    for (let i = 0; i < 30; i++) bot.queue(tone(BOT_HZ), 1000)
    bot.send({ event: 'mark', mark: { name: 'never spoken' } })
    assert.ok(await hearsBot(phone))
    await bot.until(message => message.mark?.name === 'first')
    assert.not.ok(bot.messages.some(message => message.mark?.name === 'never spoken'))
    bot.send({ event: 'clear' })
    await bot.until(message => message.mark?.name === 'never spoken')
    assert.ok(levelAt(BOT_HZ, await phone.call.heard.next(500, 300)) < UNHEARD_DBOV, 'it still speaks')
    await bot.close()
    await leave(phone)
  },
  SLOW,
)

test(
  'muted over REST a browser leg is not heard; its keys are events of the call',
  async () => {
    const { bot, phone, ticket } = await together()
    bot.speak(tone(BOT_HZ))
    await bot.listen(600)
    const { data } = await product.ok('GET', `/calls/${ticket.call_id}/participants`)
    const session = (await product.ok('GET', `/calls/${ticket.call_id}`)).room_id
    await product.ok('PATCH', `/conference_rooms/${session}/participants/${data[0].id}`, { muted: true })
    assert.ok(levelAt(BOT_HZ, await phone.call.heard.next(500, 300)) < UNHEARD_DBOV)
    bot.send({ event: 'dtmf', dtmf: { digit: '7' } })
    const event = await product.until('the key', async () =>
      (await product.all('/events?type=call.dtmf')).find(({ data }) => data.object.call_id === ticket.call_id),
    )
    assert.is(event.data.object.digit, '7')
    await bot.close()
    await leave(phone)
  },
  SLOW,
)

test('a client token opens one call, once, from its website; everybody else gets an HTTP status and an error', async () => {
  const mint = (body: object) => product.ok('POST', '/client_tokens', body)
  const { token, ws_url } = await mint({ origin: 'https://shop.example.com' })
  const from = (origin: string) => ({ origin })
  assert.equal(await refusalOf(Bot.connect(ws_url, token, from('https://evil.example.com'))), [403, 'origin_mismatch'])
  const bot = await Bot.connect(ws_url, token, from('https://shop.example.com'))
  assert.equal(await refusalOf(Bot.connect(ws_url, token, from('https://shop.example.com'))), [
    401,
    'client_token_used',
  ])
  assert.equal(await refusalOf(Bot.connect(ws_url, 'forged')), [401, 'client_token_invalid'])
  assert.equal(await refusalOf(Bot.connect(ws_url, '')), [401, 'client_token_invalid'])
  assert.equal(await refusalOf(Bot.connect(ws_url.replace('web_calls', 'elsewhere'), token)), [404, 'resource_missing'])
  const { user_id } = await product.ok('POST', '/invitations', { email: 'token@example.com' })
  await product.ok('PATCH', `/users/${user_id}`, { status: 'active' })
  const agent = await mint({ agent_user_id: user_id })
  assert.match(agent.ws_url, /\/v1\/softphones$/)
  const refused = await refusalOf(Bot.connect(ws_url, agent.token))
  assert.equal(refused, [401, 'client_token_invalid'], 'the call WebSocket refuses agent tokens')
  const softphone = await Bot.connect(agent.ws_url, agent.token)
  const unused = await mint({ agent_user_id: user_id })
  await product.ok('PATCH', `/users/${user_id}`, { status: 'deactivated' })
  await product.until('the softphone is closed', async () => softphone.closed)
  assert.equal(softphone.closed, { code: 1008, reason: 'no longer active' })
  const shutOut = await refusalOf(Bot.connect(unused.ws_url, unused.token))
  assert.equal(shutOut, [401, 'client_token_invalid'], 'nor does an unused token of a deactivated member open anything')
  assert.not.ok(product.output.includes(token), 'a token is in the log')
  await bot.close()
})

test(
  'messages that make no sense are dropped and the call goes on; one over 64 KiB closes with 1009',
  async () => {
    const { bot, phone } = await together()
    const nonsense = [
      '',
      '{',
      'null',
      '[]',
      '{"event":1}',
      '{"event":"media"}',
      '{"event":"media","media":{"payload":7}}',
    ]
    for (const text of nonsense) bot.raw(text)
    bot.raw('{"event":"media","media":{"payload":"not base64 !"}}')
    bot.raw('{"event":"media","streamSid":"part_of_another","media":{"payload":"AAAA"}}')
    bot.raw('{"event":"dtmf","dtmf":{"digit":"77"}}')
    bot.raw(Buffer.from([1, 2, 3]))
    bot.raw(`{"event":"mark","mark":{"name":"${'x'.repeat(300)}"}}`)
    bot.speak(tone(BOT_HZ))
    assert.ok(await hearsBot(phone), 'it is no longer heard')
    bot.raw('x'.repeat(64 * 1024 + 1))
    await product.until('it is closed', async () => (bot.closed === null ? null : true))
    assert.is(bot.closed?.code, 1009)
    const metrics = await (await fetch(`${product.baseUrl}/metrics`)).text()
    assert.ok(Number(/browser_messages_refused_total (\d+)/.exec(metrics)?.[1]) >= 9, 'they are counted')
    await leave(phone)
  },
  SLOW,
)

test(
  'a call of a browser outlives the control process',
  async () => {
    const { bot, phone } = await together()
    bot.speak(tone(BOT_HZ))
    process.kill(product.pids.control, 'SIGKILL')
    await phone.call.heard.next(500)
    assert.ok(await hearsBot(phone))
    await product.ready()
    assert.is(bot.closed, null)
    await bot.close()
    await leave(phone)
  },
  SLOW,
)

test(
  'a guest of a room with a PIN needs it; after three wrong ones he waits',
  async () => {
    const room = await newRoom(product, { pin: '4711', moderator_pin: '99887' })
    const link = await linkOf(room.roomId)
    const tried = async (body: object) => {
      const response = await fetch(link, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const { error, client_token } = (await response.json()) as Answer
      return [response.status, error?.param ?? null, error?.details?.tries_left ?? null, typeof client_token]
    }
    assert.equal(await tried({ name: 'Eve' }), [400, 'pin', null, 'undefined'])
    assert.equal(await tried({ name: 'Eve', pin: '1111' }), [400, 'pin', 2, 'undefined'])
    assert.equal(await tried({ name: 'Eve', pin: '4711' }), [201, null, null, 'string'])
    assert.equal(await tried({ name: 'Mod', pin: '99887' }), [201, null, null, 'string'])
    for (const left of [2, 1, 0]) {
      assert.equal(await tried({ name: 'Eve', pin: '2222' }), [400, 'pin', left, 'undefined'])
    }
    assert.equal(await tried({ name: 'Eve', pin: '4711' }), [429, 'pin', null, 'undefined'])
    assert.equal(await tried({ name: '' }), [400, 'name', null, 'undefined'])
    const gone = await fetch(`${product.baseUrl}/join/guest_nobody`)
    assert.is(gone.status, 404)
  },
  SLOW,
)

test.run()
