import type { Noun } from '../../../control/http/noun.ts'
import { reminderEvents } from './events.ts'
import { reminderRoutes } from './routes.ts'
import { reminders as table } from './tables.ts'

declare module '../../../control/kernel/ids.ts' {
  interface IdKinds {
    reminder: true
  }
}

export const reminders: Noun = {
  ids: { reminder: 'rem' },
  migrations: { '900-reminders': table },
  events: reminderEvents,
  routes: reminderRoutes,
}
