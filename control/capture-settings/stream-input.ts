import Type, { type Static } from 'typebox'
import { input, oneOf } from '../kernel/schema.ts'

const customParameters = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 50,
  propertyNames: { maxLength: 100 },
  additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Sent to the receiver in `start.customParameters`; up to 50 pairs.',
})

/** A media stream as requested. */
export const streamInput = input({
  mode: Type.Optional(
    oneOf(['fork', 'bidirectional'], {
      default: 'fork',
      description:
        'fork: the receiver hears the call. bidirectional: what it sends (`media`, `mark`, `clear`, `dtmf`) is also played, to the party it listens to or, in a conference session, to everybody.',
    }),
  ),
  url: Type.String({ minLength: 1, maxLength: 2048, description: "The receiver's WebSocket: ws:// or wss://." }),
  tracks: Type.Optional(
    oneOf(['inbound', 'outbound', 'both'], {
      default: 'inbound',
      description:
        "inbound: what the party says; outbound: what it hears. `both` counts as two of the call's 4 tracks.",
    }),
  ),
  format: Type.Optional(oneOf(['mulaw_8000', 'l16_16000', 'l16_8000'], { default: 'mulaw_8000' })),
  custom_parameters: Type.Optional(customParameters),
})
export type StreamInput = Static<typeof streamInput>
