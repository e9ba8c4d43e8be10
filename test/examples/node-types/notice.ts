import type { NodeType } from '../../../control/flows/engine/node-type.ts'

/** A node type to copy: in `control/flows/engine/` the import is `./node-type.ts`. */
export const notice: NodeType = {
  means: 'reads out a notice, word for word',
  behaviour: 'speak',
  needs: ['script'],
  kinds: ['ivr', 'voice'],
}
