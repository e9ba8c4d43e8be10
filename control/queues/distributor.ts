/** Decides who rings for what, from rows and the time. Times are milliseconds since 1970. */

/** Of the agents of a queue that has the strategy, the one with the least rings first. */
const STRATEGIES = {
  longest_idle: (agent: Agent) => agent.idleSince,
  round_robin: (agent: Agent) => agent.lastOfferedAt,
}
export const STRATEGY_NAMES = Object.keys(STRATEGIES) as (keyof typeof STRATEGIES)[]

export interface QueueRules {
  id: string
  enabled: boolean
  strategy: keyof typeof STRATEGIES
  /** Users who answer it, by name or through a team. */
  members: ReadonlySet<string>
  overflowWhenNoAgents: boolean
}

/** A waiting caller, or a callback that is due. */
export interface Waiting {
  kind: 'call' | 'callback'
  id: string
  /** Null: any agent may take it (a callback of no queue). */
  queueId: string | null
  /** The agent who is to return a callback of route `agent`; null: any agent of its queue. */
  onlyAgent: string | null
  since: number
  /** For callbacks: 1 (low) to 10 (urgent). All callers have the same. */
  priority: number
  /** Agents who did not answer an offer of it. */
  tried: ReadonlySet<string>
  isOffered: boolean
  /** Another node serves it. */
  isElsewhere: boolean
  /** When the wait exceeds its limit; null: no limit, as for every callback. */
  overflowAt: number | null
}

export interface Agent {
  id: string
  /** A signed-in agent, whatever the present status. */
  isSignedIn: boolean
  /** Available, neither rung nor in a call. */
  isFree: boolean
  /** Has a device that can ring. */
  isReachable: boolean
  /** End of the rest after a missed call, without which the phone would ring continuously, or of a reservation by a campaign. */
  restUntil: number
  idleSince: number
  lastOfferedAt: number
}

type OverflowReason = 'disabled' | 'no_agents' | 'max_wait'

export type QueueDecision =
  | { kind: 'offer'; to: 'call' | 'callback'; id: string; agentId: string }
  | { kind: 'overflow'; id: string; reason: OverflowReason }

interface QueueWorld {
  queues: readonly QueueRules[]
  waiting: readonly Waiting[]
  agents: readonly Agent[]
  now: number
}

/** For so long since there is somebody for it, what waits leaves an agent to what is before it on another node, which may be dead by now [ms]. */
const LEFT_MS = 2000

/**
 * One round. Callers come before callbacks. Callers are ordered by waiting time, callbacks by priority and then by due time. Each gets one
 * free agent of its queue, or the agent that it is for; an agent gets at most one. The other nodes decide for their callers.
 */
export function distribute({ queues, waiting, agents, now }: QueueWorld): QueueDecision[] {
  const rules = new Map(queues.map(queue => [queue.id, queue]))
  const free = new Set(agents.filter(agent => isTaker(agent, now)))
  const signedIn = new Set(agents.filter(agent => agent.isSignedIn).map(agent => agent.id))
  const decisions: QueueDecision[] = []
  const left = new Set<Agent>()
  for (const item of inOrder(waiting)) {
    const isOver = item.kind === 'call' && item.overflowAt !== null && item.overflowAt <= now
    // A phone that rings for it rings on, until the caller has waited too long.
    if (item.isOffered && !isOver) continue
    const queue = item.queueId === null ? undefined : rules.get(item.queueId)
    const reason = item.kind === 'call' ? (shutReason(queue, signedIn) ?? (isOver ? 'max_wait' : null)) : null
    if (reason !== null) {
      if (!item.isElsewhere) decisions.push({ kind: 'overflow', id: item.id, reason })
      continue
    }
    const isLeft = (one: Agent): boolean =>
      left.has(one) && (item.isElsewhere || now - Math.max(item.since, one.idleSince) < LEFT_MS)
    const agent = choose(
      [...free].filter(one => mayTake(one, item, queue) && !isLeft(one)),
      item,
      queue,
    )
    if (agent === undefined) continue
    if (item.isElsewhere) {
      left.add(agent)
      continue
    }
    free.delete(agent)
    decisions.push({ kind: 'offer', to: item.kind, id: item.id, agentId: agent.id })
  }
  return decisions
}

/** Whether this agent's phone may ring now. */
export const isTaker = (agent: Agent, now: number): boolean =>
  agent.isFree && agent.isReachable && agent.restUntil <= now

/** Waiting calls and callbacks in the order in which they are served. */
export const inOrder = (waiting: readonly Waiting[]): Waiting[] => [...waiting].sort(compare)

function compare(a: Waiting, b: Waiting): number {
  if (a.kind !== b.kind) return a.kind === 'call' ? -1 : 1
  return b.priority - a.priority || a.since - b.since || (a.id < b.id ? -1 : 1)
}

/** Why a queue takes no calls now, or null. */
export function shutReason(
  queue: QueueRules | undefined,
  signedIn: ReadonlySet<string>,
): Exclude<OverflowReason, 'max_wait'> | null {
  if (queue === undefined || !queue.enabled) return 'disabled'
  return queue.overflowWhenNoAgents && ![...queue.members].some(id => signedIn.has(id)) ? 'no_agents' : null
}

function mayTake(agent: Agent, { onlyAgent, queueId }: Waiting, queue: QueueRules | undefined): boolean {
  if (onlyAgent !== null) return agent.id === onlyAgent
  return queueId === null || queue?.members.has(agent.id) === true
}

/** Agents who have not been tried come first, then the strategy decides, then the ID, so that every node makes the same choice. */
function choose(agents: readonly Agent[], item: Waiting, queue: QueueRules | undefined): Agent | undefined {
  const rank = STRATEGIES[queue?.strategy ?? 'longest_idle']
  return [...agents].sort(
    (a, b) =>
      Number(item.tried.has(a.id)) - Number(item.tried.has(b.id)) || rank(a) - rank(b) || (a.id < b.id ? -1 : 1),
  )[0]
}
