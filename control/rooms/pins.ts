import type { ConferenceRoomRow } from '../calls/tables.ts'
import { invalid, type Problem } from '../http/errors.ts'
import { hashPin, verifyPin } from '../kernel/secrets.ts'
import type { ChangeBody } from './schema.ts'

/** The columns of one of a room's PINs; null: it has none. */
export async function pinColumns(column: 'pin' | 'moderator_pin', digits: string | null) {
  const hash = digits === null ? null : await hashPin(digits)
  return { [`${column}_hash`]: hash, [`${column}_length`]: digits?.length ?? null } as Pick<
    ConferenceRoomRow,
    'pin_hash' | 'pin_length' | 'moderator_pin_hash' | 'moderator_pin_length'
  >
}

/** Why a change of one of the two PINs is refused. The other one is known only by its hash. */
export async function changedPinProblem(
  row: ConferenceRoomRow,
  { pin, moderator_pin }: ChangeBody,
): Promise<Problem | null> {
  if (pin !== undefined && moderator_pin !== undefined) return pinProblem(pin, moderator_pin)
  const digits = pin ?? moderator_pin ?? null
  const other = pin === undefined ? row.pin_hash : row.moderator_pin_hash
  const isSame = digits !== null && other !== null && (await verifyPin(digits, other))
  return isSame ? pinProblem(digits, digits, pin === undefined ? 'moderator_pin' : 'pin') : null
}

export const pinProblem = (participant: string | null, moderator: string | null, param = 'moderator_pin') =>
  moderator !== null && moderator === participant
    ? invalid(param, 'The moderator PIN must differ from the participant PIN.')
    : null
