// One database: PostgreSQL has its own disk.
// Own process: it mounts a file system.
import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import * as assert from 'uvu/assert'
import { faultOf } from '../../../../control/kernel/store/faults.ts'
import { openStore, type Store } from '../../../../control/kernel/store/store.ts'
import type { Events } from '../../../../media/protocol.ts'
import { suite } from '../../../harness.ts'
import { LocalMedia, RawPhone } from '../../../media/local-media.ts'
import { makeWorld } from '../../app-harness.ts'
import { type CallsWorld, eventTypes, makeCallsWorld, startControl, until } from '../../calls-world.ts'

const test = suite('control/full disk')

const DISK_BYTES = 12 * 1024 * 1024

interface Disk {
  folder: string
  /** Nothing more can be written of this store: neither is there room in the part of its log that is written over. */
  fill(store: Store): Promise<void>
  free(): void
  unmount(): void
}

/** A small file system of its own; or why there is none. */
function mountDisk(): Disk | string {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    rmSync(folder, { recursive: true })
    return `mounting is not allowed here: ${(error as Error).message.split('\n').at(-2) ?? ''}`
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill: async ({ db }) => {
      await sql`pragma wal_checkpoint(truncate)`.execute(db)
      for (const size of [65_536, 4096, 512, 1]) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(size))
        } catch {}
      }
    },
    free: () => rmSync(filler),
    unmount: () => {
      // A test that has failed leaves its store open.
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    },
  }
}

const probe = mountDisk()
if (typeof probe !== 'string') probe.unmount()
const reason = typeof probe === 'string' ? probe : null

function diskTest(name: string, run: (disk: Disk) => Promise<void>): void {
  if (reason !== null) {
    test.skip(name, reason)
    return
  }
  test(name, async () => {
    const disk = mountDisk() as Disk
    try {
      await run(disk)
    } finally {
      disk.unmount()
    }
  })
}

const openOn = (disk: Disk): Promise<Store> => openStore(join(disk.folder, 'tandem.db'))

diskTest(
  'a transaction that a full disk breaks fails by SQLITE_FULL, and the store works again when there is room',
  async disk => {
    const store = await openOn(disk)
    const write = () =>
      store.transaction(async trx => {
        for (let i = 0; i < 50; i++) {
          await trx
            .insertInto('settings')
            .values({ name: `big ${i}`, value: 'x'.repeat(20_000) })
            .execute()
        }
      })
    await disk.fill(store)
    const error = await write().then(
      () => null,
      (cause: unknown) => cause as Error & { code?: string },
    )
    assert.equal([error?.code, faultOf(error)], ['SQLITE_FULL', 'outage'])
    disk.free()
    await write()
    await store.close()
  },
)

/** A world on a disk, with what the channel to media has logged. */
async function makeDiskWorld(disk: Disk) {
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const store = await openOn(disk)
  const world = await makeCallsWorld({ world: await makeWorld(store), log })
  return { world, lines }
}

const statusOf = async ({ store }: CallsWorld, legId: string) =>
  store.db
    .selectFrom('calls')
    .innerJoin('participants', 'participants.call_id', 'calls.id')
    .selectAll('calls')
    .where('participants.id', '=', legId)
    .executeTakeFirst()

const RECORDED: Omit<Events['recording.ready'], 'recordingId'> = {
  file: 'r.wav',
  sampleRateHz: 8000,
  durationMs: 5000,
  sizeBytes: 80_044,
  channels: [],
  segments: [],
} as never

/** A call to the echo that is in progress, recorded. */
async function callInProgress(world: CallsWorld): Promise<string> {
  world.media.dialIn('part_1', '1002')
  await world.media.committed()
  await until(() => world.media.sent('leg.answer').length > 0)
  await world.media.committed()
  const call = await statusOf(world, 'part_1')
  return call?.id ?? ''
}

diskTest(
  'while the disk is full nothing of media is lost: keys, the end of a recording and of the call are written when there is room',
  async disk => {
    const { world, lines } = await makeDiskWorld(disk)
    const { media, control } = world
    const callId = await callInProgress(world)
    await world.store.db
      .insertInto('recordings')
      .values({
        ...{
          organisation_id: world.ours.organisationId,
          livemode: 1,
          call_id: callId,
          status: 'recording',
          file: null,
        },
        ...{ sample_rate: null, duration_ms: null, size_bytes: null, channels: '[]', segments: '[]', created: '2026' },
      } as never)
      .execute()
    const connections = control.client.counters.connections
    await disk.fill(world.store)
    for (const key of ['1', '2', '3'])
      media.emit('leg.dtmf', { legId: 'part_1', key, durationMs: 100, masked: false } as never)
    // Enough that they cannot fit into what is left of a page.
    for (let i = 0; i < 200; i++)
      media.emit('leg.dtmf', { legId: 'part_1', key: '5', durationMs: 100, masked: false } as never)
    media.emit('recording.ready', { recordingId: callId, ...RECORDED } as never)
    media.hangUp('part_1')
    await until(() => control.client.counters.storeOutages === 1)
    // Longer than five tries took, and several reconnects.
    await new Promise(resolve => setTimeout(resolve, 2500))
    assert.ok(media.acked < media.seq, 'the disk was not full: the test proves nothing')
    assert.is(control.client.counters.connections, connections, 'the channel stays')
    assert.is(control.client.counters.skipped, 0)
    assert.is(lines.filter(({ msg }) => /store cannot be/.test(msg)).length, 1, 'one line a minute')
    assert.is(lines.length, 1)
    disk.free()
    await media.committed()
    const types = await eventTypes(world, callId)
    assert.is(types.filter(type => type === 'call.dtmf').length, 203)
    assert.ok(types.includes('call.recording.ready'))
    assert.is(types.at(-1), 'call.ended')
    await world.close()
  },
)

diskTest(
  'a caller who comes while the disk is full hears 503, which is recorded as store_unavailable, and the next one is answered',
  async disk => {
    const { world } = await makeDiskWorld(disk)
    const { media } = world
    await disk.fill(world.store)
    for (let i = 0; i < 100; i++) {
      media.emit('leg.dtmf', { legId: 'nobody', key: '5', durationMs: 100, masked: false } as never)
    }
    for (let i = 0; i < 20; i++) media.dialIn(`refused_${i}`, '1002')
    await until(() => media.sent('leg.reject').length === 20)
    const [refused] = media.sent('leg.reject')
    assert.equal(
      [refused?.sipCode, refused?.reason, Number(refused?.retryAfterS) > 0],
      [503, 'store_unavailable', true],
    )
    disk.free()
    await media.committed()
    const call = await statusOf(world, 'refused_19')
    assert.equal([call?.status, call?.ended_reason, call?.sip_code], ['failed', 'store_unavailable', 503])
    media.dialIn('taken', '1002')
    await until(() => media.sent('leg.answer').some(({ legId }) => legId === 'taken'))
    await world.close()
  },
)

/** Writes small things until not even one fits. */
async function fillStore(disk: Disk, store: Store): Promise<void> {
  const { db } = store
  await disk.fill(store)
  for (let i = 0; i < 5000; i++) {
    const row = { name: `filler ${i}`, value: 'x'.repeat(500) }
    const isFull = await db
      .insertInto('settings')
      .values(row)
      .execute()
      .then(
        () => false,
        (error: unknown) => faultOf(error) === 'outage',
      )
    if (isFull) return
  }
  throw new Error('the disk is never full')
}

diskTest(
  'a control process that comes to media while the disk is full: who calls hears 503 at once, and it is recorded as store_unavailable',
  async disk => {
    const { world } = await makeDiskWorld(disk)
    await world.control.stop()
    const media = await LocalMedia.open()
    const door = await media.listen()
    const [phone, another] = [await RawPhone.open(media), await RawPhone.open(media)]
    await fillStore(disk, world.store)
    await phone.call()
    const control = await startControl(world, door)
    // By itself media would say so after 4 s, and that they may come back after 5.
    assert.match(await phone.expect('SIP/2.0 503'), /Retry-After: 10\r/)
    await another.call()
    assert.match(await another.expect('SIP/2.0 503'), /Retry-After: 10\r/)
    assert.is(control.client.state, 'reconciling', 'the disk was not full: the test proves nothing')
    disk.free()
    await until(() => control.client.state === 'ready')
    const rows = await world.store.db.selectFrom('calls').select(['ended_reason', 'sip_code']).execute()
    assert.equal(rows, [
      { ended_reason: 'store_unavailable', sip_code: 503 },
      { ended_reason: 'store_unavailable', sip_code: 503 },
    ])
    for (const one of [phone, another]) one.close()
    await control.stop()
    await media.close()
    await world.close()
  },
)

diskTest(
  'while the disk is full requests answer 503 store_unavailable with Retry-After, and a running call is hung up',
  async disk => {
    const { world } = await makeDiskWorld(disk)
    const { media, control } = world
    const callId = await callInProgress(world)
    await control.running.refresh()
    await disk.fill(world.store)
    const answers = []
    for (let i = 0; i < 40; i++) {
      answers.push(await control.ask('POST /v1/conference_rooms', { name: 'x'.repeat(60) }))
    }
    const { status, body, headers } = answers.at(-1)!
    assert.equal([status, body.error.type, body.error.code], [503, 'api_error', 'store_unavailable'])
    assert.ok(Number(headers['retry-after']) > 0)
    const headersOf = { headers: { 'idempotency-key': 'once' } }
    const hungUp = await control.ask(`POST /v1/calls/${callId}/hangup`, undefined, headersOf)
    assert.is(hungUp.status, 200, JSON.stringify(hungUp.body))
    assert.is(media.legs.has('part_1'), false)
    disk.free()
    await media.committed()
    assert.is((await statusOf(world, 'part_1'))?.ended_reason, 'api_hangup')
    await world.close()
  },
)

test.run()
