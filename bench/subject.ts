import type { StreamFormat } from '../media/protocol.ts'
import type { RestClient } from './rest-client.ts'

/** A started product, as the bench uses it. */
export interface Subject {
  api: RestClient
  sip: { host: string; port: number }
  mediaPid: number
  controlPid: number
  /** Its processes whose CPU is not measured. */
  otherPids: number[]
  /** The number that answers each caller with its own voice. */
  echoNumber: string
  /** Makes conference rooms; resolves with the number to call for each. */
  openRooms(count: number): Promise<string[]>
  /** Starts a stream of both tracks for each call of the callers `load-0`, `load-1` and so on; the stream of leg i connects to `<url>/<i>`. */
  startStreams(legs: number, format: StreamFormat, url: string): Promise<void>
  /** Stops all these streams. */
  stopStreams(): Promise<void>
  /** Number of slots of the engine's clock that began more than 5 ms late or were skipped since its start. */
  lateSlots(): Promise<number>
  /** The product's own metrics, by name without `tandem_`. Metrics with labels are left out, except the bounds of histograms (`{le="…"}`). */
  metrics(): Promise<Map<string, number>>
  /** Has the main threads of media and control collect all their garbage. */
  collect(): Promise<void>
  stop(): Promise<void>
}
