import { IANAZone } from 'luxon'
import type { Static } from 'typebox'
import { conflict, invalid, isProblem, needed, type Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { type Exists, referenceProblem } from '../http/references.ts'
import type { Trx } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import { changedHours } from '../organisation/hours-schema.ts'
import { anyLineOut } from '../trunks/outbound.ts'
import type { OfferedVoices } from '../voices/offered.ts'
import { answeringProblem, changedAnswering } from './answering.ts'
import type { CampaignSettings, changeBody } from './schema.ts'

type Sent = Omit<Static<typeof changeBody>, 'name' | 'metadata'>

/** The settings with the sent fields merged in. */
export function changedSettings(stored: CampaignSettings, sent: Sent): CampaignSettings | Problem {
  const { allowed_hours: hours, answering_machine_detection: answering, ...others } = sent
  const allowed_hours =
    hours === undefined ? stored.allowed_hours : changedHours(stored.allowed_hours, hours as object, 'allowed_hours')
  const answering_machine_detection =
    answering === undefined
      ? stored.answering_machine_detection
      : changedAnswering(stored.answering_machine_detection, answering)
  return isProblem(allowed_hours)
    ? allowed_hours
    : { ...merge(stored, others), allowed_hours, answering_machine_detection }
}

/** 400 if there is no such time zone. */
export const timezoneProblem = (timezone: string, param: string): Problem | null =>
  IANAZone.isValidZone(timezone) ? null : invalid(param, `There is no time zone ${timezone}.`)

/** Settings that only one mode uses. */
const OF_MODE = { abandoned_limit_pct: 'predictive', claim_seconds: 'preview' } as const

/** Why a changed field would have no effect. Stored ones are kept, in case the mode is changed back. */
export function idleProblem(before: CampaignSettings, after: CampaignSettings): Problem | null {
  for (const [param, mode] of Object.entries(OF_MODE) as [keyof typeof OF_MODE, CampaignSettings['mode']][]) {
    if (after[param] === before[param] || after.mode === mode) continue
    return invalid(param, `${param} needs the mode \`${mode}\`.`)
  }
  return null
}

/** Looks up the objects to which settings refer. */
export interface SettingsDeps {
  exists: { assistant: Exists; flow: Exists; queue: Exists; audioAsset: Exists }
  voices: OfferedVoices
}

/** Why these settings are invalid, or null. */
export async function settingsProblem(
  { exists, voices }: SettingsDeps,
  trx: Trx,
  tenant: Tenant,
  settings: CampaignSettings,
): Promise<Problem | null> {
  const { timezone, caller_ids, flow_id } = settings
  const [first, another] = leadersOf(settings)
  if (another !== undefined) {
    return invalid(another, `A campaign has one of assistant, flow and queue, and ${first} is set already.`)
  }
  const unknown = await referenceProblem(trx, tenant, [
    { param: 'assistant_id', id: settings.assistant_id, kind: 'assistant', exists: exists.assistant },
    { param: 'flow_id', id: flow_id, kind: 'flow', exists: exists.flow },
    { param: 'queue_id', id: settings.queue_id, kind: 'queue', exists: exists.queue },
    {
      param: 'answering_machine_detection.message.audio_asset_id',
      id: settings.answering_machine_detection?.message?.audio_asset_id,
      kind: 'audio asset',
      exists: exists.audioAsset,
    },
  ])
  if (unknown !== null) return unknown
  if (settings.mode !== 'progressive' && settings.queue_id === null) {
    return needed('queue_id', `${settings.mode} needs a queue.`)
  }
  const { answering_machine_detection: answering } = settings
  const voice = 'answering_machine_detection.message.voice'
  const unanswerable = answeringProblem(answering) ?? voices.problem(voice, answering?.message?.voice)
  if (unanswerable !== null) return unanswerable
  const noZone = timezone === null ? null : timezoneProblem(timezone, 'timezone')
  if (noZone !== null) return noZone
  if (settings.local_presence && caller_ids.length === 0) {
    return needed('caller_ids', 'local_presence needs caller_ids.')
  }
  return callersProblem(trx, tenant, caller_ids)
}

/** Refuses calling numbers that are not the organisation's. */
async function callersProblem(trx: Trx, tenant: Tenant, numbers: readonly string[]): Promise<Problem | null> {
  if (numbers.length === 0) return null
  const rows = forTenant(trx, tenant)
    .select('phone_numbers')
    .select('number')
    .where('number', 'in', [...numbers])
  const own = new Set((await rows.execute()).map(row => row.number))
  const place = numbers.findIndex(number => !own.has(number))
  if (place < 0) return null
  return invalid(`caller_ids[${place}]`, `The organisation has no phone number ${numbers[place]}.`)
}

const leadersOf = (settings: CampaignSettings) =>
  (['assistant_id', 'flow_id', 'queue_id'] as const).filter(param => settings[param] !== null)

/** Why a campaign cannot start: nothing is set that would talk with those who answer. */
export const leaderProblem = (settings: CampaignSettings): Problem | null =>
  leadersOf(settings).length === 0
    ? needed('assistant_id', 'A campaign needs an assistant, a flow or a queue for its calls.')
    : null

/** Why no call of a campaign could be dialled. */
export async function lineProblem(trx: Trx, tenant: Tenant): Promise<Problem | null> {
  if (!tenant.livemode || (await anyLineOut(trx, tenant))) return null
  const message = 'No enabled connection makes outbound calls: create one of kind trunk or registration first.'
  return conflict('no_connection', message)
}
