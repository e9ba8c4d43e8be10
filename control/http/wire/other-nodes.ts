import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { send } from '../../../media/protocol.ts'
import { hmac, sha256 } from '../../kernel/secrets.ts'
import { nodeOf } from '../../kernel/store/node.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Vault } from '../../kernel/vault.ts'
import { asItIs, sendProblem } from '../answer.ts'
import { isProblem, type Problem, problem } from '../errors.ts'

const OTHER_NODE = 'other_node'
/** Carries the request's ID, and the proof that another node of the database has passed it on. */
const PASSED_ON = 'tandem-passed-on'
const PURPOSE = 'requests passed on between nodes'
/** Longer than any operation on a call takes [ms]. */
const PASS_MS = 30_000
const RETRY_S = 5
/** RFC 9110 §7.6.1: they are about one connection. undici writes its own. */
const OF_CONNECTION = [
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'content-length',
]

declare module 'fastify' {
  interface FastifyRequest {
    /** The body of a JSON request as it was sent; null: there is none. */
    rawBody: Buffer | null
  }
}

/** 409 that names the node to ask. */
export const otherNode = (node: string): Problem =>
  problem('resource_conflict', `The call is on node ${node}: send the request there.`, {
    details: { reason: OTHER_NODE, node },
  })

/** The node that an operation must be requested from, if it was refused for that. */
function nodeToAsk(result: unknown): string | null {
  const { reason, node } = (isProblem(result) && result.details) || {}
  return reason === OTHER_NODE ? String(node) : null
}

/** Whether another node has passed the request on: only such a request has the ID that it names. */
export const isPassedOn = ({ id, headers }: FastifyRequest): boolean =>
  String(headers[PASSED_ON] ?? '').startsWith(`${id}.`)

/**
 * Passes requests on to the node that has to carry them out (`TANDEM_NODE_URL`), and its answers back, so that a client may ask any node.
 * The first node admits, counts and logs a request; the second one authenticates it again and keeps the answer of its `Idempotency-Key`.
 */
export class OtherNodes {
  readonly #store: Store
  readonly #log: Logger
  readonly #key: string

  constructor({ store, log, vault }: { store: Store; log: Logger; vault: Pick<Vault, 'derive'> }) {
    this.#store = store
    this.#log = log
    this.#key = vault.derive(PURPOSE)
  }

  /** The ID of a request that another node has passed on; null: it comes from a client. */
  idOf(headers: IncomingHttpHeaders): string | null {
    const named = String(headers[PASSED_ON] ?? '')
    const [id = ''] = named.split('.')
    return sha256(named) === sha256(this.#proven(id)) ? id : null
  }

  #proven(id: string): string {
    return `${id}.${hmac(this.#key, id)}`
  }

  /** Where a refused request is to be sent; null: it was refused for something else, was passed on already, or nobody has told the address. */
  async wayTo(result: unknown, request: FastifyRequest): Promise<{ node: string; url: string } | null> {
    const id = nodeToAsk(result)
    if (id === null || isPassedOn(request)) return null
    const row = await this.#store.db.selectFrom('nodes').select('url').where('id', '=', id).executeTakeFirst()
    return row?.url == null ? null : { node: id, url: row.url }
  }

  async passOn(
    { node, url }: { node: string; url: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown> {
    const { method, rawBody } = request
    const headers = { ...withoutConnection(request.headers), [PASSED_ON]: this.#proven(request.id) }
    try {
      const answer = await send({
        method: method as 'POST',
        url: url + request.url,
        headers: headers as Record<string, string>,
        ...(rawBody === null ? {} : { body: rawBody }),
        signal: AbortSignal.timeout(PASS_MS),
      })
      const body = await buffer(answer.body)
      if (answer.status >= 400) request.failure = JSON.parse(body.toString()).error.code
      return reply.code(answer.status).headers(withoutConnection(answer.headers)).serializer(asItIs).send(body)
    } catch (error) {
      this.#log.warn(
        { err: error, requestId: request.id, node, from: nodeOf(this.#store.db) },
        'a request could not be passed on',
      )
      const message = `Node ${node}, which has the call, does not answer.`
      return sendProblem(request, reply, problem('media_unavailable', message, { retryAfterS: RETRY_S }))
    }
  }
}

const withoutConnection = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name)))
