/** What the served process tells once it listens. */
export interface Served {
  /** Of the API, and of a Fastify with one bare route and nothing else, both in the same process. */
  port: number
  barePort: number
  key: string
  /** Objects that are there. */
  ids: { call: string; queue: string; assistant: string }
  /** Callbacks that are there. */
  callbacks: number
}
