/** Sent by the serving process once it listens. */
export interface Served {
  /** Ports of the API and of a bare Fastify, both in the same process. */
  port: number
  barePort: number
  key: string
  /** One object of each kind. */
  ids: { call: string; queue: string; assistant: string }
  /** IDs of all calls, oldest first. */
  calls: string[]
  /** Number of callbacks. */
  callbacks: number
}

/** Request for the CPU that the serving process has used so far; the answer is the number [ms]. */
export const CPU = 'cpu'

/** Makes the bare server answer GET with the body that the API has for this path now; the answer is the body's length. */
export interface Copy {
  copy: string
}
