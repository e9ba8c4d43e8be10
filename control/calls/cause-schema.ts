import Type, { type Static } from 'typebox'
import type { LegCause } from '../../media/protocol.ts'
import { nullable, oneOf } from '../kernel/schema.ts'

export const cause = Type.Object(
  {
    q850: nullable(
      Type.Integer({
        description:
          'ITU-T Q.850, such as 16 (normal call clearing), 17 (user busy), 34 (no circuit available): as it was said, else what the SIP status stands for (RFC 3398).',
      }),
    ),
    sip: nullable(
      Type.Integer({ description: '`SIP;cause=` of a Reason header, such as 200: call completed elsewhere.' }),
    ),
    text: nullable(Type.String({ description: "The far end's words." })),
    by: oneOf(['far_end', 'tandem'], { description: 'Who ended it, or refused it.' }),
  },
  {
    description: 'Why a SIP leg ended, as whoever ended it said (Reason, RFC 3326). Null: it has not, or nobody said.',
  },
)

export type Cause = Static<typeof cause>

export const toCause = (stored: string | null): Cause | null =>
  stored === null ? null : (JSON.parse(stored) as LegCause)
