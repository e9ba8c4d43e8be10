import { type ApiVersion, added } from './version.ts'

export const version20260501: ApiVersion = {
  date: '2026-05-01',
  changes: [
    added('The first version: calls, conference rooms, media streams, card-payment pause, callbacks, webhooks.'),
  ],
}
