import type { SipRequest } from '../message/message.ts'

/** Event packages that phones may subscribe to (RFC 6665 §4.4.1), and the bodies of their NOTIFYs. */
export type EventPackage = 'message-summary' | 'dialog'

/** The state sent to a subscriber, always in full. */
export type PackageState =
  /** RFC 3842 */
  | { package: 'message-summary'; waiting: number; heard: number }
  /** RFC 4235; nobody's number or name. */
  | { package: 'dialog'; dialogs: readonly DialogState[] }

interface DialogState {
  /** Stable while the dialog lasts; letters, digits and `_`. */
  id: string
  direction: 'initiator' | 'recipient'
  state: 'trying' | 'early' | 'confirmed'
}

export const TYPES: Readonly<Record<EventPackage, string>> = {
  'message-summary': 'application/simple-message-summary',
  dialog: 'application/dialog-info+xml',
}

export const ALLOW_EVENTS = Object.keys(TYPES).join(', ')

const isPackage = (name: string): name is EventPackage => Object.hasOwn(TYPES, name)

/** The package of a SUBSCRIBE; null: none of ours. */
export function packageOf({ headers }: SipRequest): EventPackage | null {
  const name = (headers.get('event') ?? '').split(';')[0]!.trim().toLowerCase()
  return isPackage(name) ? name : null
}

/** @param entity URI of the subject; `version` counts the NOTIFYs of one subscription from 0 (RFC 4235 §4.1) */
export function bodyOfState(state: PackageState, entity: string, version: number): { type: string; bytes: Uint8Array } {
  const text = state.package === 'dialog' ? dialogInfo(state, entity, version) : messageSummary(state, entity)
  return { type: TYPES[state.package], bytes: Buffer.from(text, 'utf8') }
}

/** RFC 3842 §5.2 */
function messageSummary(state: Extract<PackageState, { package: 'message-summary' }>, entity: string): string {
  const { waiting, heard } = state
  const lines = [
    `Messages-Waiting: ${waiting > 0 ? 'yes' : 'no'}`,
    `Message-Account: ${entity}`,
    `Voice-Message: ${waiting}/${heard} (0/0)`,
  ]
  return `${lines.join('\r\n')}\r\n`
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, char => ESCAPES[char]!)

/** RFC 4235 §4.1: a dialog that is no longer listed has ended. */
function dialogInfo({ dialogs }: { dialogs: readonly DialogState[] }, entity: string, version: number): string {
  const inside = dialogs.map(
    ({ id, direction, state }) =>
      `<dialog id="${escaped(id)}" direction="${direction}"><state>${state}</state></dialog>\n`,
  )
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<dialog-info xmlns="urn:ietf:params:xml:ns:dialog-info" version="${version}" state="full" entity="${escaped(entity)}">\n`,
    ...inside,
    '</dialog-info>\n',
  ].join('')
}
