import type { Tenant } from '../kernel/tenancy.ts'
import type { ModelProvider } from './openai-ask.ts'
import { mockWriter, openAiWriter, type Writer } from './writer.ts'

/** Nobody is on the line while something is written, and a long meeting takes long to read [ms]. */
const TIMEOUT_MS = 90_000

/** What writes for a tenant: the operator's model, in test mode a mock; null where none is configured. */
export type WriterFor = (tenant: Tenant, signal: AbortSignal) => Writer | null

export const writerChooser =
  (provider: (ModelProvider & { defaultModel: string }) | null): WriterFor =>
  ({ livemode }, signal) => {
    if (!livemode) return mockWriter
    if (provider === null) return null
    return openAiWriter({ provider: { ...provider, timeoutMs: TIMEOUT_MS }, model: provider.defaultModel, signal })
  }
