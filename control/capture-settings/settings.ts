import Type, { type Static } from 'typebox'
import { input, nullable, oneOf } from '../kernel/schema.ts'
import { streamInput } from './stream-input.ts'

const INHERITED = 'Null: inherited, see `docs/recording.md`.'

const consent = input({
  key: oneOf(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#'], {
    description: 'The key that gives consent.',
  }),
  timeout_s: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 60, default: 8, description: 'How long the key is waited for.' }),
  ),
  otherwise: Type.Optional(
    oneOf(['continue', 'hang_up'], {
      default: 'continue',
      description: 'If the caller does not consent: continue and keep nothing of the call, or hang up.',
    }),
  ),
})

/** Capture settings: fields of routes, queues, assistants, flows and the organisation. Each field is inherited separately. */
export const captureFields = {
  record: nullable(Type.Boolean({ description: `Record the calls. ${INHERITED}` })),
  transcribe: nullable(Type.Boolean({ description: `Transcribe the calls. ${INHERITED}` })),
  streams: nullable(
    Type.Array(streamInput, { maxItems: 4, description: `Stream their audio to these receivers. ${INHERITED}` }),
  ),
  recording_announcement: nullable(
    Type.String({
      maxLength: 1000,
      description: `Said to the caller first, if anything is to be captured; empty: nothing is said. ${INHERITED}`,
    }),
  ),
  recording_consent: nullable(consent),
}

const settings = Type.Object(captureFields)
export type CaptureSettings = Static<typeof settings>

/** Settings of which nothing is set. */
export const NO_CAPTURE: CaptureSettings = {
  record: null,
  transcribe: null,
  streams: null,
  recording_announcement: null,
  recording_consent: null,
}

/** Reads the stored settings; null: never set. */
export const captureOf = (json: string | null): CaptureSettings => ({
  ...NO_CAPTURE,
  ...(json === null ? {} : (JSON.parse(json) as Partial<CaptureSettings>)),
})

type Field = keyof CaptureSettings

/** The value of a field from the first that sets it, in order of precedence. */
export const firstSaid = <K extends Field>(layers: readonly Partial<CaptureSettings>[], name: K): CaptureSettings[K] =>
  layers.find(layer => (layer[name] ?? null) !== null)?.[name] ?? null

/** The fields that are set, from an object that may have other fields too; null: none is set. */
export function saidIn(settings: Partial<CaptureSettings>): Partial<CaptureSettings> | null {
  const said = (Object.keys(NO_CAPTURE) as Field[]).filter(name => (settings[name] ?? null) !== null)
  return said.length === 0 ? null : Object.fromEntries(said.map(name => [name, settings[name]]))
}

/** The stored value after a change; lists and `recording_consent` replace. */
export function changedCapture(json: string | null, sent: Partial<CaptureSettings>): string | null {
  const changed = captureOf(json)
  let isChanged = false
  for (const name of Object.keys(NO_CAPTURE) as (keyof CaptureSettings)[]) {
    if (sent[name] === undefined) continue
    Object.assign(changed, { [name]: sent[name] })
    isChanged = true
  }
  return isChanged ? JSON.stringify(changed) : json
}
