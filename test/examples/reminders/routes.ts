import type { Static } from 'typebox'
import type { Context } from '../../../control/http/context.ts'
import { missing, type Problem } from '../../../control/http/errors.ts'
import type { NounParts } from '../../../control/http/noun.ts'
import { plainOf, plainRoutes } from '../../../control/http/plain-resource.ts'
import { operations, type Route } from '../../../control/http/route.ts'
import { appendEvent } from '../../../control/kernel/events/log.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { changeBody, createBody, type Reminder, reminderSchema, toReminder } from './schema.ts'

export function reminderRoutes(parts: NounParts): Route[] {
  const plain = plainOf({
    store: parts.store,
    table: 'reminders',
    api: operations('Reminders', 'organisation'),
    reply: reminderSchema,
    toObject: toReminder,
  })
  const writing = { createBody, create: create(parts), changeBody, change: change(parts) }
  return plainRoutes(plain, writing, { description: 'Nothing else goes with it.' })
}

const create =
  ({ now }: NounParts) =>
  (context: Context, { text }: Static<typeof createBody>): Promise<Reminder> =>
    context.transaction(async trx => {
      const at = now().toISOString()
      const row = { id: newId('reminder'), text, created: at, updated: at }
      await forTenant(trx, context).insert('reminders', row)
      const object = toReminder({ ...row, organisation_id: context.organisationId, livemode: context.livemode ? 1 : 0 })
      await appendEvent(trx, context, { type: 'reminder.created', at, object, request: context })
      return object
    })

const change =
  ({ now }: NounParts) =>
  (context: Context, id: string, body: Static<typeof changeBody>): Promise<Reminder | Problem> =>
    context.transaction(async trx => {
      const scoped = forTenant(trx, context)
      const row = await scoped.find('reminders', id)
      if (row === undefined) return missing('reminder', id)
      const changed = { text: body.text ?? row.text, updated: now().toISOString() }
      await scoped.update('reminders').set(changed).where('id', '=', id).execute()
      return toReminder({ ...row, ...changed })
    })
