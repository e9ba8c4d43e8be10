import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { send } from '../../../media/protocol.ts'
import { hmac, sha256 } from '../../kernel/secrets.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Vault } from '../../kernel/vault.ts'
import { asItIs, sendProblem } from '../answer.ts'
import { isProblem, type Problem, problem } from '../errors.ts'
import { originForm } from './paths.ts'

/** Carries the request's ID, and the proof that another node of the database has passed it on. */
const PASSED_ON = 'tandem-passed-on'
const PURPOSE = 'requests passed on between nodes'
/** Longer than any operation takes until it begins to answer [ms]. */
const PASS_MS = 30_000
const RETRY_S = 5
/** RFC 9110 §7.6.1: they are about one connection. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect']

declare module 'fastify' {
  interface FastifyRequest {
    /** The body of a JSON request as it was sent; null: there is none. */
    rawBody: Buffer | null
  }
}

/** 409 that names the node to ask: as every refusal with a `node` in its details, it is passed on there. */
export const otherNode = (node: string): Problem =>
  problem('resource_conflict', `The call is on node ${node}: send the request there.`, {
    details: { reason: 'other_node', node },
  })

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

  /** Where a refused request is to be sent; null: nowhere else, it was passed on already, or nobody has told the node's address. */
  async wayTo(result: unknown, request: FastifyRequest): Promise<Way | null> {
    const node = isProblem(result) ? result.details?.node : undefined
    if (typeof node !== 'string' || isPassedOn(request)) return null
    const row = await this.#store.db.selectFrom('nodes').select('url').where('id', '=', node).executeTakeFirst()
    return row?.url == null ? null : { node, url: row.url, refused: result as Problem }
  }

  async passOn({ node, url, refused }: Way, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { method, rawBody, id } = request
    const gaveUp = new AbortController()
    const timer = setTimeout(() => gaveUp.abort(), PASS_MS)
    try {
      const { status, headers, body } = await send({
        method: method as 'POST',
        url: url + originForm(request.url),
        headers: { ...(withoutConnection(request.headers) as Record<string, string>), [PASSED_ON]: this.#proven(id) },
        ...(rawBody === null ? {} : { body: rawBody }),
        signal: gaveUp.signal,
      })
      const text = status < 400 ? null : await buffer(body)
      const error = text === null ? null : JSON.parse(text.toString()).error
      // A call here and a room there cannot meet: each node refuses what the other one has.
      if (typeof error?.details?.node === 'string') return sendProblem(request, reply, refused)
      request.failure = error?.code ?? null
      const answer = reply.code(status).headers(withoutConnection(headers)).serializer(asItIs)
      return answer.send(text ?? Readable.from(body))
    } catch (error) {
      this.#log.warn({ err: error, requestId: id, node }, 'a request could not be passed on')
      const silent = problem('media_unavailable', `Node ${node} does not answer.`, { retryAfterS: RETRY_S })
      // Its files may be gone with it.
      return sendProblem(request, reply, refused.problem === 'resource_missing' ? refused : silent)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Where a refused request is to be sent. */
interface Way {
  node: string
  url: string
  refused: Problem
}

const withoutConnection = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name)))
