import { ask } from './client.ts'
import { deliver, type Target } from './deliver.ts'
import { followEvents } from './event-feed.ts'
import { leftOver, takeFlag, type Words } from './flags.ts'
import { loadApi } from './operations.ts'
import { type Account, isHttp, webhookSecret } from './profiles.ts'
import { type Failed, failed, isFailed, plain, refuse, type Terminal } from './terminal.ts'

/** The flags of each command. */
export const EVENT_FLAGS = {
  listen: ['events', 'forward-to', 'from', 'json'],
  resend: ['forward-to'],
  trigger: [],
}

interface Event {
  id: string
  type: string
  timestamp: string
}

/** `tandem listen`: shows events until Ctrl-C, and delivers them. Returns the exit code. */
export async function runListen(terminal: Terminal, account: Account, words: Words): Promise<number> {
  const types = takeFlag(words, 'events') ?? undefined
  const lastId = takeFlag(words, 'from') ?? undefined
  const asJson = takeFlag(words, 'json') !== undefined
  const target = takeTarget(terminal, words)
  const problem = isFailed(target) ? target : (leftOver(words, EVENT_FLAGS.listen) ?? noMore(words))
  if (problem !== null) return refuse(terminal, problem)
  // A program may read the JSON on standard output, so everything else goes to standard error.
  const note = (line: string): void => terminal.err(line)
  if (target !== null && !isFailed(target)) note(`Deliveries to ${target.url} are signed with ${target.secret}`)
  const listener = {
    ready: () => note(`Listening for ${types ?? 'all events'} of ${account.url} until Ctrl-C.`),
    lost: (why: string) => note(`The connection is lost (${why}); reconnecting without losing events.`),
    event: async (_type: string, data: string) => {
      const event = JSON.parse(data) as Event
      terminal.out(asJson ? `${data}\n` : `${lineOf(event)}\n`)
      if (target !== null && !isFailed(target)) await forward(terminal, target, event.id, data)
    },
  }
  const failure = await followEvents(account, { types, lastId }, listener, terminal.signal)
  return failure === null ? 0 : refuse(terminal, failure)
}

const lineOf = ({ id, type, timestamp }: Event): string => plain(`${timestamp}  ${id}  ${type}`)

async function forward(terminal: Terminal, target: Target, id: string, body: string): Promise<boolean> {
  const { isGood, said } = await deliver(target, { id, body }, terminal.signal)
  const again = isGood || terminal.signal.aborted ? '' : `; again: tandem resend ${id} --forward-to ${target.url}`
  terminal.err(`  ${id}  ${plain(said)}${again}`)
  return isGood
}

/** Where events are delivered; null: nowhere. */
function takeTarget({ env }: Terminal, words: Words): Target | Failed | null {
  const url = takeFlag(words, 'forward-to')
  if (url === undefined) return null
  if (url === null || !isHttp(url)) {
    return failed(`--forward-to "${url ?? ''}" is no http or https address, such as http://localhost:3000/hooks.`)
  }
  const secret = webhookSecret(env)
  return isFailed(secret) ? secret : { url, secret }
}

const noMore = ({ words: [word] }: Words): Failed | null =>
  word === undefined
    ? null
    : failed(`Unexpected argument "${word}". Usage: tandem listen [--events call.*] [--forward-to URL].`)

/** `tandem resend EVENT_ID … --forward-to URL`: delivers events of the log again. Returns the exit code. */
export async function runResend(terminal: Terminal, account: Account, words: Words): Promise<number> {
  const target = takeTarget(terminal, words)
  if (isFailed(target)) return refuse(terminal, target)
  const problem = leftOver(words, EVENT_FLAGS.resend)
  if (problem !== null) return refuse(terminal, problem)
  if (target === null || words.words.length === 0) {
    return refuse(terminal, failed('Usage: tandem resend EVENT_ID … --forward-to URL.'))
  }
  let isGood = true
  for (const id of words.words) {
    const path = `/v1/events/${encodeURIComponent(id)}`
    const answer = await ask(account, { method: 'GET', path }, terminal.signal)
    if (isFailed(answer)) return refuse(terminal, answer)
    isGood = (await forward(terminal, target, id, answer.bytes.toString())) && isGood
  }
  return isGood ? 0 : 1
}

/** `tandem trigger EVENT …`: creates sample events of these types in test mode, delivered like any event. Returns the exit code. */
export async function runTrigger(terminal: Terminal, account: Account, words: Words): Promise<number> {
  const problem = leftOver(words, EVENT_FLAGS.trigger)
  if (problem !== null) return refuse(terminal, problem)
  if (words.words.length === 0) return refuse(terminal, failed('Usage: tandem trigger EVENT …, such as call.ended.'))
  const unknown = await unknownType(terminal, account, words.words)
  if (unknown !== null) return refuse(terminal, unknown)
  for (const type of words.words) {
    const request = { method: 'POST', path: '/v1/test_helpers/events', body: JSON.stringify({ type }) }
    const answer = await ask(account, request, terminal.signal)
    if (isFailed(answer)) return refuse(terminal, answer)
    terminal.out(`${JSON.parse(answer.bytes.toString()).id}  ${type}\n`)
  }
  return 0
}

/** The error for an unknown type, with similar ones; null: all types exist. */
async function unknownType(terminal: Terminal, account: Account, types: readonly string[]): Promise<Failed | null> {
  for (const isNew of [false, true]) {
    const api = await loadApi(terminal, account, isNew)
    if (isFailed(api)) return api
    const stray = types.find(type => !api.eventTypes.includes(type))
    if (stray === undefined) return null
    const [family = ''] = stray.split('.')
    const near = api.eventTypes.filter(type => type.split('.')[0] === family)
    const like = near.length > 0 ? near : [...new Set(api.eventTypes.map(type => `${type.split('.')[0]}.*`))]
    if (isNew) return failed(`There is no event "${stray}"; there are ${like.join(', ')}.`)
  }
  return null
}
