/** Sent by the served process once it listens. */
export interface Served {
  /** Ports of the API and of a bare Fastify, both in the same process. */
  port: number
  barePort: number
  key: string
  /** Objects that are there. */
  ids: { call: string; queue: string; assistant: string }
  /** All calls that are there, oldest first. */
  calls: string[]
  /** Callbacks that are there. */
  callbacks: number
}

/** Asks what CPU the served process has used so far [ms]; the answer is the number. */
export const CPU = 'cpu'

/** Has the bare server answer GET with the body that this path of the API answers now; the answer is the body's length. */
export interface Copy {
  copy: string
}
