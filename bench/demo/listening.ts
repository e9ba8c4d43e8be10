import { levelAt } from '../spectrum.ts'
import type { Caller } from './cast.ts'
import type { Show } from './show.ts'

/** Nobody may hear himself louder than this [dBov]. */
const SILENT_DBOV = -40
/** A caller's tone is sent at -15 dBov. */
const LOUD_DBOV = -20

/** One second of what each hears: who is in it and who is not. */
export async function listen(callers: readonly Caller[], show: Show): Promise<void> {
  const seconds = await Promise.all(callers.map(({ call }) => call.heard.next(1000, 300)))
  const levels = seconds.map(samples => callers.map(({ hz }) => levelAt(hz, samples)))
  show.title('Who heard whom, over one whole second [dBov]')
  show.table([
    ['', ...callers.map(({ name, hz }) => `${name}'s ${hz} Hz`)],
    ...callers.map(({ name }, i) => [`${name} heard`, ...levels[i]!.map(level => level.toFixed(1))]),
  ])
  show.line()
  for (const [i, { name }] of callers.entries()) {
    const others = levels[i]!.filter((_, j) => j !== i)
    show.check(
      others.every(level => level > LOUD_DBOV),
      `${name} hears the others`,
    )
  }
  const own = Math.max(...callers.map((_, i) => levels[i]![i]!))
  show.check(own < SILENT_DBOV, 'nobody hears himself', `${own.toFixed(1)} dBov at most, must be below ${SILENT_DBOV}`)
}
