import type { CallRow } from '../calls/tables.ts'
import type { BUILT_IN } from '../flows/engine/template.ts'

/** Variables that scripts and tools have in every call. */
export const partiesOf = (call: CallRow): Record<(typeof BUILT_IN)[number], string> => ({
  call_id: call.id,
  caller: call.direction === 'inbound' ? call.from_address : call.to_address,
  called: call.direction === 'inbound' ? call.to_address : call.from_address,
})
