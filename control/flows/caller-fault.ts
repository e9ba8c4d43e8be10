import type { FlowRow } from './tables.ts'

/** Why a flow leads no caller, or null: an archived one leads nobody any more, and an agent's script is read by the agent. */
export function callerFault({ kind, status }: Pick<FlowRow, 'kind' | 'status'>): string | null {
  if (status === 'archived') return 'is archived'
  return kind === 'agent_script' ? 'is an agent_script: agents read it, no caller is led by it' : null
}
