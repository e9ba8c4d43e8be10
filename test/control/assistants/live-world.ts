import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { LivePrograms } from '../../../control/assistants/programs.ts'
import type { Store } from '../../../control/kernel/store/store.ts'
import { MediaClient } from '../../../control/media-link/client.ts'
import { buildApp } from '../../../control/wiring/app.ts'
import { buildCallCentre, buildDriver } from '../../../control/wiring/background.ts'
import { buildPrograms, centreOf, ledBy } from '../../../control/wiring/wire-programs.ts'
import { FakeMedia } from '../../fakes/media.ts'
import { type Answer, ask, makeWorld, silent, type World } from '../app-harness.ts'
import { until } from '../calls-world.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'

/** A control process with its own wiring, and a media process whose parties the test plays. */
export interface LiveWorld extends World {
  media: FakeMedia
  app: FastifyInstance
  programs: LivePrograms
  /** A request with the live key of our organisation. */
  ask(line: string, body?: unknown): Promise<Answer>
  /** Creates an object; returns its ID. */
  make(path: string, body: object): Promise<string>
  /** Kills the control process and starts another one. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function makeLiveWorld(
  config: object = {},
  { opened, log = silent }: { opened?: Store; log?: Logger } = {},
): Promise<LiveWorld> {
  const world = await makeWorld(opened)
  const media = new FakeMedia()
  media.playsAtOnce = true
  await media.listen()
  let control = await start(world, media, config, log)
  const live = {
    ...world,
    media,
    get app() {
      return control.app
    },
    get programs() {
      return control.programs
    },
    ask: (line: string, body?: unknown) =>
      ask(control.app, line, { key: world.ours.keys.live, ...(body === undefined ? {} : { body }) }),
    make: async (path: string, body: object) => {
      const made = await live.ask(`POST /v1${path}`, body)
      if (made.status >= 300) throw new Error(`${path}: ${made.text}`)
      return made.body.id as string
    },
    restart: async () => {
      await control.stop()
      control = await start(world, media, config, log)
    },
    close: async () => {
      await control.stop()
      await media.close()
      await world.store.close()
    },
  }
  await live.make('/connections', { name: 'Phones', kind: 'peer', allowed_ips: ['127.0.0.0/8'] })
  return live
}

async function start({ store, clock }: World, media: FakeMedia, config: object, log: Logger) {
  const parts = { store, vault: VAULT, now: clock.now, log, config: { ...APP_CONFIG, ...config } }
  const centre = buildCallCentre(
    parts,
    ledBy(() => programs),
  )
  const programs = buildPrograms({ ...parts, centre: centreOf(centre) })
  const client = new MediaClient(media.path, buildDriver({ ...parts, centre, programs }), log)
  const app = await buildApp({ ...parts, centre, media: client })
  client.start()
  await until(() => client.state === 'ready')
  return {
    app,
    programs,
    stop: async () => {
      await client.close()
      await programs.close()
      await centre.idle()
      await app.close()
    },
  }
}

/** A published flow of this graph, and a number that leads to it. */
export async function makeFlow(world: LiveWorld, graph: object, number = '2000'): Promise<string> {
  const kind = (graph as { kind?: string }).kind ?? 'ivr'
  const id = await world.make('/flows', { name: 'Flow', kind, graph })
  const published = await world.ask(`POST /v1/flows/${id}/publish`, {})
  if (published.status !== 200) throw new Error(published.text)
  await world.make('/inbound_routes', { match: { to: number }, target: { type: 'flow', id } })
  return id
}

/** The call of a party that has dialled in. */
export async function callOf(world: LiveWorld, legId: string): Promise<string> {
  const answered = await world.media.command('leg.answer', legId)
  return answered.room.roomId
}
