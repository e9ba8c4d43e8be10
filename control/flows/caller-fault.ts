import type { FlowRow } from './tables.ts'

/** Why a flow cannot lead callers, or null: it is archived, or is an agent's script, which agents read. */
export function callerFault({ kind, status }: Pick<FlowRow, 'kind' | 'status'>): string | null {
  if (status === 'archived') return 'is archived'
  return kind === 'agent_script' ? 'is an agent_script: agents read it, no caller is led by it' : null
}
