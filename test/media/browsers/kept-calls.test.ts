import { once } from 'node:events'
import type { Socket } from 'node:net'
import * as assert from 'uvu/assert'
import WebSocket, { WebSocketServer } from 'ws'
import type { BrowserLine } from '../../../media/browsers/browser.ts'
import { BrowserBoard, type Doors } from '../../../media/browsers/browser-board.ts'
import { Threads } from '../../../media/engine/threads/threads.ts'
import type { BrowserPipe } from '../../../media/legs/browser-leg.ts'
import { FrameRing } from '../../../media/legs/frame-ring.ts'
import type { MediaEvent } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/kept-calls')
const ANN = { agent: 'org_1:true:usr_ann', device: 'brw_1' }
const ROOM = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 2 }

/** The board of browser calls, with real WebSockets and an engine thread that only keeps the memory it gets. */
class Scene {
  readonly events: MediaEvent[] = []
  readonly board: BrowserBoard
  readonly #server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  readonly pages: Page[] = []
  pipe: BrowserPipe | null = null
  #waiting: { ws: WebSocket; socket: Socket } | null = null

  constructor(graceMs?: number) {
    const engine = {
      request: async (name: string, body: { pipe?: BrowserPipe }) => {
        if (body.pipe !== undefined) this.pipe = body.pipe
        return name === 'leg.close' ? { failure: 'not_found', message: '' } : {}
      },
    }
    this.board = new BrowserBoard({
      threads: new Threads([engine as never], () => 0),
      emit: event => this.events.push(event),
      fault: error => {
        throw error
      },
      now: () => performance.now(),
      ...(graceMs === undefined ? {} : { graceMs }),
      createResampler: () => {
        throw new Error('nothing resamples')
      },
    })
    const doors: Doors = {
      admit: (_id, use) => {
        use(this.#waiting!.ws, this.#waiting!.socket, 'mulaw_8000', { host: '127.0.0.1' })
        return true
      },
      refuse: () => true,
    }
    this.board.attach(doors)
  }

  async connect(browserId: string, phone = ANN): Promise<Page> {
    if (this.#server.address() === null) await once(this.#server, 'listening')
    const { port } = this.#server.address() as { port: number }
    const ws = new WebSocket(`ws://127.0.0.1:${port}`)
    const page = new Page(ws)
    this.pages.push(page)
    const [theirs, request] = (await once(this.#server, 'connection')) as [WebSocket, { socket: Socket }]
    if (ws.readyState !== WebSocket.OPEN) await once(ws, 'open')
    this.#waiting = { ws: theirs, socket: request.socket }
    this.board.admit({ browserId, as: 'phone', legId: null, accountSid: 'org_1', phone })
    return page
  }

  /** Calls a page, which accepts. */
  async callTo(browserId: string, page: Page): Promise<BrowserLine> {
    await this.board.dial({
      legId: 'part_1',
      target: { browserId, info: { caller: 'sip:bob', call_id: 'call_1' } },
      room: ROOM,
      affinity: 'org_1:true',
      timeoutS: 30,
    })
    page.say({ event: 'accept' })
    await page.until(({ event }) => event === 'start')
    return this.board.lines.get('part_1')!
  }

  named(name: string): MediaEvent[] {
    return this.events.filter(event => event.name === name)
  }

  /** Why the leg has ended. */
  get reason(): string | undefined {
    const [ended] = this.named('leg.ended')
    return ended?.name === 'leg.ended' ? ended.body.reason : undefined
  }

  async close(): Promise<void> {
    await this.board.hangup({ legId: 'part_1', reason: 'api_hangup' })
    this.board.closeAll()
    for (const { ws } of this.pages) ws.terminate()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

type Message = { event: string; control?: Record<string, unknown>; media?: object; streamSid?: string }

class Page {
  readonly messages: Message[] = []
  readonly ws: WebSocket

  constructor(ws: WebSocket) {
    this.ws = ws
    ws.on('message', data => {
      this.messages.push(JSON.parse(String(data)) as Message)
      ws.emit('news')
    })
    ws.on('error', () => {})
  }

  say(message: object): void {
    this.ws.send(JSON.stringify(message))
  }

  async until(is: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(is)
      if (found !== undefined) return found
      await once(this.ws, 'news')
    }
  }
}

let scene: Scene
test.beforeEach(() => {
  scene = new Scene()
})
test.afterEach(() => scene.close())

const closed = async (page: Page, code = 1001): Promise<void> => {
  const before = scene.named('browser.closed').length
  page.ws.close(code)
  while (scene.named('browser.closed').length === before) await new Promise(resolve => setImmediate(resolve))
}

/** Rings a page. @returns the message that it gets */
async function ringing(browserId: string, page: Page): Promise<Message> {
  await scene.board.dial({
    legId: 'part_1',
    target: { browserId, info: { caller: 'sip:bob', call_id: 'call_1' } },
    room: ROOM,
    affinity: 'org_1:true',
    timeoutS: 30,
  })
  return page.until(({ event }) => event === 'ring')
}

test('a softphone that is reloaded while it rings, rings again for the same caller, who is answered', async () => {
  const before = await scene.connect('brw_1')
  const told = await ringing('brw_1', before)
  await closed(before)
  const after = await scene.connect('brw_2')
  assert.equal(await after.until(({ event }) => event === 'ring'), told)
  assert.is(scene.reason, undefined)
  after.say({ event: 'accept' })
  await after.until(({ event }) => event === 'start')
  assert.is(scene.named('leg.answered').length, 1)
})

test('control is told which call a page goes on with, and whether one that is gone may come back', async () => {
  const before = await scene.connect('brw_1')
  await ringing('brw_1', before)
  await closed(before)
  const after = await scene.connect('brw_2')
  await closed(after, 1000)
  const told = [...scene.named('browser.connected'), ...scene.named('browser.closed')].map(({ body }) => body)
  assert.equal(told, [
    { browserId: 'brw_1', goesOn: null },
    { browserId: 'brw_2', goesOn: 'part_1' },
    { browserId: 'brw_1', forGood: false },
    { browserId: 'brw_2', forGood: true },
  ])
})

test('a softphone that rings and has lost its network rings again before the loss was noticed', async () => {
  const before = await scene.connect('brw_1')
  await ringing('brw_1', before)
  const after = await scene.connect('brw_2')
  await after.until(({ event }) => event === 'ring')
  await once(before.ws, 'close')
  assert.is(scene.reason, undefined)
  after.say({ event: 'stop' })
  while (scene.reason === undefined) await new Promise(resolve => setImmediate(resolve))
  assert.is(scene.reason, 'rejected')
})

test('a softphone that rings and is closed for good, or does not come back, rings no longer', async () => {
  await scene.close()
  scene = new Scene(30)
  const gone = await scene.connect('brw_1')
  await ringing('brw_1', gone)
  await closed(gone)
  while (scene.reason === undefined) await new Promise(resolve => setImmediate(resolve))
  assert.is(scene.reason, 'caller_hangup')
  const back = await scene.connect('brw_2')
  await scene.board.send({ browserId: 'brw_2', body: { type: 'status' } })
  await back.until(({ event }) => event === 'control')
  assert.not.ok(back.messages.some(({ event }) => event === 'ring'))
})

test('what of a page could not be used is counted while its call goes on, and not again at its end', async () => {
  const page = await scene.connect('brw_1')
  await scene.callTo('brw_1', page)
  page.say({ event: 'media', media: { payload: '' } })
  page.ws.send(Buffer.alloc(1))
  const counted = () => [scene.board.counters.framesRefused, scene.board.counters.messagesRefused]
  for (let tries = 0; tries < 200 && counted().join() !== '1,1'; tries++)
    await new Promise(later => setTimeout(later, 10))
  assert.equal(counted(), [1, 1])
  await scene.board.hangup({ legId: 'part_1', reason: 'api_hangup' })
  await closed(page)
  assert.equal(counted(), [1, 1])
})

test('what stops ringing while its softphone is away, rings no more when that is back', async () => {
  const before = await scene.connect('brw_1')
  await ringing('brw_1', before)
  await closed(before)
  await scene.board.hangup({ legId: 'part_1', reason: 'answered_elsewhere' })
  const after = await scene.connect('brw_2')
  await scene.board.send({ browserId: 'brw_2', body: { type: 'status' } })
  await after.until(({ event }) => event === 'control')
  assert.not.ok(after.messages.some(({ event }) => event === 'ring'))
})

test('a softphone that is reloaded in mid-call is in the same call again, is told of it, hears and is heard', async () => {
  const before = await scene.connect('brw_1')
  await scene.callTo('brw_1', before)
  scene.board.hold('part_1', true)
  await closed(before)
  assert.equal(scene.named('leg.ended'), [])
  const toPage = new FrameRing(scene.pipe!.toPage)
  const fromPage = new FrameRing(scene.pipe!.fromPage)
  for (let i = 0; i < 100; i++) {
    toPage.write(null)
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  assert.is(scene.board.counters.framesDropped, 0)
  const after = await scene.connect('brw_2', { ...ANN })
  const { control } = await after.until(message => message.control?.type === 'call')
  assert.equal(
    [control?.caller, control?.call_id, control?.held, typeof control?.seconds],
    ['sip:bob', 'call_1', true, 'number'],
  )
  assert.is((await after.until(({ event }) => event === 'start')).streamSid, 'part_1')
  toPage.write(null)
  await after.until(({ event }) => event === 'media')
  after.say({ event: 'media', media: { timestamp: '20', payload: Buffer.alloc(160, 0x55).toString('base64') } })
  while (fromPage.written === 0) await new Promise(resolve => setImmediate(resolve))
  assert.equal(scene.named('leg.ended'), [])
})

test('a softphone whose network is lost takes its call over before the old connection is missed', async () => {
  const before = await scene.connect('brw_1')
  await scene.callTo('brw_1', before)
  const after = await scene.connect('brw_2', { ...ANN })
  await after.until(({ event }) => event === 'start')
  const [code] = await once(before.ws, 'close')
  assert.is(code, 1000)
  assert.equal(scene.named('leg.ended'), [])
  after.say({ event: 'stop' })
  await after.until(({ event }) => event === 'stop')
})

test("another member's softphone, and another one of the agent's while the call runs, take nothing up", async () => {
  const before = await scene.connect('brw_1')
  await scene.callTo('brw_1', before)
  await scene.connect('brw_2', { ...ANN, device: 'brw_2' })
  assert.is(scene.board.lines.get('part_1')?.browser.id, 'brw_1')
  await closed(before)
  await scene.connect('brw_3', { agent: 'org_1:true:usr_eve', device: 'brw_1' })
  assert.is(scene.board.lines.get('part_1')?.browser.id, 'brw_1')
})

test('a softphone that hangs up, or closes its connection as one does at the end, leaves no call behind', async () => {
  const page = await scene.connect('brw_1')
  await scene.callTo('brw_1', page)
  page.ws.close(1000)
  while (scene.named('leg.ended').length === 0) await new Promise(resolve => setImmediate(resolve))
  assert.is(scene.reason, 'caller_hangup')
})

test('a softphone that does not come back leaves its call after a while, as one that is gone', async () => {
  await scene.close()
  scene = new Scene(50)
  const page = await scene.connect('brw_1')
  await scene.callTo('brw_1', page)
  page.ws.terminate()
  while (scene.named('leg.ended').length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  assert.is(scene.reason, 'rtp_timeout')
  assert.is(scene.board.lines.size, 0)
})

test.run()
