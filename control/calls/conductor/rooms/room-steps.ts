import type { Commands } from '../../../../media/protocol.ts'
import type { Store } from '../../../kernel/store/store.ts'
import { collectId, type LegRows } from '../../steps/decide.ts'
import { withRows } from '../call-steps.ts'
import { playOf, promptOf } from '../prompts.ts'
import { failureOf, type Senders } from '../sender.ts'
import type { Seating } from './seating.ts'

const FIRST_DIGIT_TIMEOUT_MS = 10_000
const INTER_DIGIT_TIMEOUT_MS = 4000

/** Senders of the steps into a conference room. */
export const roomSteps = ({ db }: Store, seating: Seating): Senders<'room'> => ({
  pin: withRows(db, async (rows, media) => {
    // The call's previous leader may have listened.
    if (rows.call.answered_at !== null) await media.request('leg.stop_listen', { legId: rows.participant.id })
    return failureOf(await media.request('leg.collect', pinCollect(rows)))
  }),
  waiting: withRows(db, async ({ participant, room }, media) => {
    const sources = [promptOf(room)('wait-moderator'), { kind: 'music' as const }]
    return failureOf(await media.request('leg.play', playOf(participant, sources, { loop: true })))
  }),
  joining: (leg, media) => seating.seat(leg, media),
})

function pinCollect({ participant, room }: LegRows): Commands['leg.collect']['request'] {
  const prompt = promptOf(room)
  return {
    legId: participant.id,
    collectId: collectId(participant),
    prompts:
      participant.pin_tries === 0
        ? [prompt('welcome'), prompt('enter-pin')]
        : [prompt('wrong-pin'), prompt('enter-pin')],
    maxDigits: Math.max(room?.pin_length ?? 0, room?.moderator_pin_length ?? 0, 4),
    terminators: '#',
    firstDigitTimeoutMs: FIRST_DIGIT_TIMEOUT_MS,
    interDigitTimeoutMs: INTER_DIGIT_TIMEOUT_MS,
    sensitive: true,
    // It may be dialled with the number, and come before the question.
    ahead: 'take',
  }
}
