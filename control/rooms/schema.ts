import Type, { type Static } from 'typebox'
import { roomSchedule, roomSettings } from '../calls/settings.ts'
import { listParameters } from '../http/list.ts'
import { input, nullable, objectName, partialInput } from '../kernel/schema.ts'

const pin = (description: string) => Type.String({ pattern: '^[0-9]{4,8}$', description })
const fields = {
  owner_id: nullable(Type.String({ maxLength: 200, description: 'The member who owns the room.' })),
  pin: pin('Participant PIN for dial-in, 4 to 8 digits.'),
  moderator_pin: pin('Different from the participant PIN.'),
  settings: partialInput(roomSettings),
  schedule: partialInput(roomSchedule),
}
const name = objectName()

export const createBody = input({ name, ...partialInput(fields).properties })

export const roomListQuery = input({
  ...listParameters,
  owner_id: Type.Optional(Type.String({ maxLength: 200, description: 'Rooms of this member.' })),
})

export const changeBody = partialInput({
  name,
  ...fields,
  active: Type.Boolean(),
  locked: Type.Boolean({
    description: 'For the session in progress: only moderators can join, and people dialled from within.',
  }),
  pin: nullable(fields.pin),
  moderator_pin: nullable(fields.moderator_pin),
})
export type ChangeBody = Static<typeof changeBody>
