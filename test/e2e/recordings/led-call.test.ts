import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { audibleSamples, levelAt } from '../../../bench/spectrum.ts'
import { tone } from '../../../bench/voices.ts'
import { readWav, wavHeader } from '../../../codecs/wav.ts'
import { endedCall, HEARD_DBOV, shopWith, spokenTo, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'
import { killAndWait } from '../witness.ts'

const test = sharedSuite('e2e/recordings/led-call')
const LIMIT = { timeoutMs: 60_000 }
const CARD = '4929876543210987'
const CALLER_HZ = 440
const PLAYED_HZ = 900

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })

const SHOP = {
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('menu')] },
    {
      key: 'menu',
      type: 'menu',
      script: 'Press one to pay.',
      input: { modes: ['dtmf'], timeout_ms: 30_000 },
      transitions: [to('pay', { kind: 'dtmf', digits: '1' }), to('end', { kind: 'else' })],
    },
    {
      key: 'pay',
      type: 'payment',
      payment: { amount: '12.50', currency: 'EUR' },
      transitions: [to('more', { kind: 'outcome', value: 'paid' }), to('end')],
    },
    {
      key: 'more',
      type: 'collect',
      script: 'Thank you. Press a key.',
      save_as: 'last',
      input: { modes: ['dtmf'], timeout_ms: 30_000 },
      transitions: [to('end')],
    },
    { key: 'end', type: 'end' },
  ],
  variables: [{ name: 'last' }],
}

/** Calls the phone, which answers. */
async function called(phone: Phone, more: object): Promise<{ id: string; call: PhoneCall }> {
  const ringing = phone.next()
  const { id } = await product.ok('POST', '/calls', { to: phone.uri, ...more })
  const call = await ringing
  call.answer()
  return { id, call }
}

/** Resolves when the flow of a call is at this node. */
const at = (id: string, key: string) =>
  product.until(`the flow is at ${key}`, async () => {
    const run = await product.ok('GET', `/calls/${id}/flow_run`)
    return run.current_node_key === key ? run : null
  })

async function untilKeys(call: PhoneCall, keys: string): Promise<void> {
  await product.until(`${keys} is heard`, async () => (call.keysHeard.endsWith(keys) ? true : null))
}

test(
  'a flow outlives a kill of control; its payment node gives the keys to the payment line and to nobody else, and capture goes on after it',
  async () => {
    const { phone, line, flowId } = await shopWith(product, SHOP)

    const { id, call } = await called(phone, { flow_id: flowId, record: true })
    await at(id, 'menu')
    await spokenTo(product, call)
    const killed = killAndWait(product, 'control')
    const ringing = line.next()
    await call.press('1')
    await killed
    await product.ready()
    const atLine = await ringing
    atLine.answer()
    await product.until('capture is paused', async () => {
      const events = await product.all(`/calls/${id}/events`)
      return events.some(({ type }) => type === 'call.pci.paused') ? true : null
    })
    call.say(tone(CALLER_HZ))
    await atLine.heard.next(500)
    await call.press(CARD, { as: 'rfc4733', gapMs: 60 })
    await untilKeys(atLine, CARD)
    // The rest of the last key comes first.
    await product.until('the payment line hears the caller', async () =>
      levelAt(CALLER_HZ, await atLine.heard.next(500)) > HEARD_DBOV ? true : null,
    )
    await atLine.hangup()
    await at(id, 'more')
    await spokenTo(product, call)
    await call.heard.next(1000)
    await call.press('9')
    await endedCall(product, id)
    await assertNowhere(CARD)

    const run = await product.ok('GET', `/calls/${id}/flow_run`)
    assert.is(run.end_reason, 'end_node')
    assert.is(run.variables.last, '9', 'after the payment keys are keys again')
    assert.is(run.actions[0].status, 'succeeded')
    const keys = (await product.all(`/calls/${id}/events`)).filter(({ type }) => type === 'call.dtmf')
    const shown = keys.map(({ data }) => data.object.digit)
    assert.is(shown.join(''), `1${'*'.repeat(CARD.length)}9`)
    const path = `/calls/${id}/recording`
    const { segments } = await product.until('the recording is ready', async () => {
      const found = await product.ok('GET', path)
      return found.status === 'recording' ? null : found
    })
    // Not earlier: until the recording is ready, its unfinished files come and go while they are searched.
    await assertNowhere(CARD)
    assert.is(segments.length, 1)
    const wav = readWav(await product.download(`${path}/content`))
    if ('error' in wav) throw new Error(wav.error)
    const [{ from_ms: fromMs, to_ms: toMs }] = segments
    assert.ok(toMs - fromMs > 1000)
    for (const channel of wav.samples) assert.is(audibleSamples(channel.slice(fromMs * 8, toMs * 8)), 0)
    const after = wav.samples.map(channel => levelAt(CALLER_HZ, channel.slice(toMs * 8 + 4000, toMs * 8 + 8000)))
    assert.ok(Math.max(...after) > HEARD_DBOV, 'after the payment it records again')
    await Promise.all([phone.close(), line.close()])
  },
  LIMIT,
)

test(
  'what the API says, plays and presses in a running call is heard by the party',
  async () => {
    const phone = await Phone.open('listener')
    const { id, call } = await called(phone, {})
    await product.until('it is answered', async () =>
      (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
    )
    await product.ok('POST', `/calls/${id}/dtmf`, { digits: '159#' })
    await untilKeys(call, '159#')
    const samples = Int16Array.from({ length: 8000 }, (_, i) => 16_000 * Math.sin((2 * Math.PI * PLAYED_HZ * i) / 8000))
    const file = { filename: 'tone.wav', content_base64: wavOf(samples).toString('base64') }
    const asset = await product.ok('POST', '/audio_assets', { file, kind: 'prompt' })
    await product.ok('POST', `/calls/${id}/play`, { audio_asset_id: asset.id, loop: true })
    await product.until('the tone is heard', async () =>
      levelAt(PLAYED_HZ, await call.heard.next(200)) > HEARD_DBOV ? true : null,
    )
    await product.ok('POST', `/calls/${id}/say`, {
      text: 'Your parcel is on its way to you, and it will be there soon.',
    })
    await product.until('speech takes its place', async () => {
      const heard = await call.heard.next(200)
      return levelAt(PLAYED_HZ, heard) < UNHEARD_DBOV && audibleSamples(heard) > 400 ? true : null
    })
    await product.ok('POST', `/calls/${id}/hangup`, {})
    await phone.close()
  },
  LIMIT,
)

/** Mono PCM16 at 8 kHz. */
const wavOf = (samples: Int16Array): Buffer =>
  Buffer.concat([
    wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: samples.byteLength }),
    Buffer.from(samples.buffer),
  ])

/**
 * Checks that neither a file of the data directory nor the output of the processes contains the secret. If media removes a part of a recording
 * meanwhile, the search is repeated.
 */
async function assertNowhere(secret: string): Promise<void> {
  const isSearched = await product.until('all files are searched', async () => searchFiles(secret))
  assert.ok(isSearched)
  assert.not.ok(product.output.includes(secret))
}

/** Null: a file was removed meanwhile. */
function searchFiles(secret: string): true | null {
  const found: string[] = []
  try {
    const files = readdirSync(product.dataDir, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
    for (const { name, parentPath } of files) {
      if (readFileSync(join(parentPath, name)).includes(secret)) found.push(name)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  assert.equal(found, [], `they hold ${secret}`)
  return true
}

test.run()
