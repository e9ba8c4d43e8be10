import Type, { type Static } from 'typebox'
import type { LegCause } from '../../media/protocol.ts'
import { nullable, oneOf } from '../kernel/schema.ts'

export const cause = Type.Object(
  {
    q850: nullable(
      Type.Integer({
        description:
          'ITU-T Q.850, such as 16 (normal call clearing), 17 (user busy), 34 (no circuit available). As the far end sent it, else derived from the SIP status (RFC 3398).',
      }),
    ),
    sip: nullable(
      Type.Integer({ description: '`SIP;cause=` of a Reason header, such as 200: call completed elsewhere.' }),
    ),
    text: nullable(Type.String({ description: 'The text sent by the far end.' })),
    by: oneOf(['far_end', 'tandem'], { description: 'Who ended or refused the call.' }),
  },
  {
    description:
      'Why a SIP leg ended, as stated by the side that ended it (Reason, RFC 3326). Null: it has not ended, or no reason was given.',
  },
)

export type Cause = Static<typeof cause>

export const toCause = (stored: string | null): Cause | null =>
  stored === null ? null : (JSON.parse(stored) as LegCause)
