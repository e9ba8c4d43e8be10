import { setTimeout as sleep } from 'node:timers/promises'
import { WebhookReceiver } from '../../test/fakes/webhook-receiver.ts'
import { Product } from '../product.ts'
import { Callers } from './callers.ts'
import { verifyCalls, verifyKeys, verifyWebhooks, verifyWrites, type WebhookCounts } from './verify.ts'
import { Victim } from './victim.ts'
import { Writers } from './writer.ts'

interface KillOptions {
  kills: number
  /** No kill begins after this time; the report says how many there were [ms]. */
  budgetMs: number
  say?: (line: string) => void
}

interface KillReport {
  kills: number
  seconds: number
  /** Writes that were answered, and those of them whose first answer was lost with the process. */
  acknowledged: number
  retried: number
  webhooks: WebhookCounts
  calls: { answered: number; refused: number; lasting: number }
  packets: { heard: number; missing: number }
  /** Everything that was lost, duplicated or forgotten. */
  problems: string[]
}

const CLIENTS = 3
const CALLERS = { lasting: 2, coming: 2 }
/** Maximum time that a process serves before it is killed; every tenth is killed during its start [ms]. */
const SERVES_MS = 150
const STARTS_MS = 200
/** Calls to an address where nobody answers have ended after this time [ms]. */
const CALLS_END_MS = 30_000

/** Kills control with SIGKILL again and again while clients write, webhooks are sent and calls arrive; then checks what is stored. */
export async function runKills({ kills, budgetMs, say = () => {} }: KillOptions): Promise<KillReport> {
  const product = await Product.start({ env: { TANDEM_LOG_LEVEL: 'fatal' } })
  const receiver = await new WebhookReceiver().listen()
  let victim: Victim | null = null
  let callers: Callers | null = null
  try {
    await product.ok('POST', '/webhook_endpoints', { url: receiver.url })
    callers = await Callers.start(product.sip, CALLERS)
    const lastingIds = (await running(product)).slice(0, CALLERS.lasting)
    const { media } = product.pids
    const startedAt = performance.now()
    victim = await Victim.instead(product)
    const writers = new Writers(product, CLIENTS)
    let killed = 0
    for (; killed < kills && performance.now() - startedAt < budgetMs; killed++) {
      if (killed % 10 === 9) await sleep(Math.random() * STARTS_MS)
      else {
        await victim.ready()
        await sleep(Math.random() * SERVES_MS)
      }
      if (killed + 1 < kills) await victim.replace()
      if (killed % 10 === 9) say(`${killed + 1} kills, ${writers.acknowledged.length} writes acknowledged`)
    }
    await victim.giveBack()
    await product.ready()
    const seconds = (performance.now() - startedAt) / 1000
    await Promise.all([writers.stop(), callers.stop()])
    const areOver = async () => ((await running(product)).length === lastingIds.length ? true : null)
    await product.until('only the lasting calls run', areOver, CALLS_END_MS)
    const webhooks = await verifyWebhooks(product, receiver)
    const problems = [
      ...writers.problems,
      ...callers.problems,
      ...(product.pids.media === media ? [] : ['media is another process']),
      ...(await verifyWrites(product, writers)),
      ...(await verifyKeys(product, writers)),
      ...webhooks.problems,
      ...(await verifyCalls(product, callers, lastingIds)),
    ]
    return {
      kills: killed,
      seconds,
      acknowledged: writers.acknowledged.length,
      retried: writers.acknowledged.filter(({ wasRetried }) => wasRetried).length,
      webhooks: webhooks.counts,
      calls: { answered: callers.answered, refused: callers.refused, lasting: lastingIds.length },
      packets: callers.packets,
      problems,
    }
  } finally {
    await victim?.giveBack()
    await callers?.close()
    await receiver.close()
    await product.stop()
  }
}

/** The calls that run now, oldest first. */
const running = async (product: Product): Promise<string[]> =>
  (await product.all('/calls')).filter(({ ended_at }) => ended_at === null).map(({ id }) => id)

/** The report as lines of text. */
export function describeKills(report: KillReport): string[] {
  const { kills, seconds, acknowledged, retried, webhooks, calls, packets, problems } = report
  return [
    `control killed with -9 ${kills} times in ${seconds.toFixed(0)} s, under load`,
    `writes acknowledged: ${acknowledged}, of these asked again with their key after a kill: ${retried}`,
    `events: ${webhooks.events}, all delivered; delivered again: ${webhooks.repeated}`,
    `calls answered: ${calls.answered}, refused for want of a decision in time: ${calls.refused}; running all along: ${calls.lasting}, ` +
      `packets heard: ${packets.heard}, missing: ${packets.missing}`,
    ...(problems.length === 0 ? ['nothing lost, doubled or forgotten'] : problems),
  ]
}
