import type { ConferenceRoomRow } from '../../calls/tables.ts'
import { escapeHtml } from '../../http/pages/html.ts'
import { copilotAside, floorAside, previewPart } from './desktop.ts'

/** A page that turns a browser into a telephone. It loads only files from this folder. */
const page = (parts: {
  title: string
  kind: string
  heading: string
  body: string
  /** Beside the telephone. */
  aside?: string
  script?: string
  wsUrl?: string
}) =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(parts.title)}</title>
<link rel="stylesheet" href="/calls/calls.css">
${parts.aside === undefined ? '' : '<link rel="stylesheet" href="/calls/desktop.css">'}
<link rel="icon" href="data:,">
${parts.script === undefined ? '' : `<script type="module" src="/calls/${parts.script}"></script>`}
</head>
<body${parts.wsUrl === undefined ? '' : ` data-ws-url="${escapeHtml(parts.wsUrl)}"`}>
<main>
<p class="kind">${escapeHtml(parts.kind)}</p>
<h1><bdi>${escapeHtml(parts.heading)}</bdi></h1>
${parts.body}
<p id="notice" role="status"></p>
${parts.aside ?? ''}
</main>
</body>
</html>
`

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#']
const keys = (id: string): string =>
  `<div id="${id}" class="keypad">${KEYS.map(key => `<button type="button" value="${key}">${key}</button>`).join('')}</div>`

const keypad = `<details><summary>Keypad</summary>${keys('keypad')}</details>`

const meters = `<div class="row">
<label>You <meter id="level" min="0" max="1" value="0" aria-label="Your microphone"></meter></label>
<label>Others <meter id="heard" min="0" max="1" value="0" aria-label="What you hear"></meter></label>
</div>`

/** Elements of a call: duration, level, hang up. `more`: further buttons beside Mute. */
const callSection = (words: {
  leave: string
  more?: string
  rest?: string
  head?: string
}): string => `<section id="call" hidden>
${words.head ?? ''}
<output id="clock" aria-live="off">0:00</output>
<p id="state" role="status">Connecting…</p>
<p id="way" aria-live="polite"></p>
${meters}
<div class="row"><button type="button" id="mute" aria-pressed="false">Mute</button>${words.more ?? ''}<button type="button" id="leave" class="bad">${words.leave}</button></div>
${words.rest ?? ''}
</section>`

/** The page at a room's `join_url`. */
export function guestPage(room: ConferenceRoomRow, openness: 'open' | 'not_open' | 'closed'): string {
  const common = { title: `Join ${room.name}`, kind: 'Conference room', heading: room.name }
  if (openness === 'closed') return page({ ...common, body: '<p>The room is closed.</p>' })
  if (openness === 'not_open') {
    const body =
      '<p>The room is not open yet. It opens 15 minutes before the meeting begins; load this page again then.</p>'
    return page({ ...common, body })
  }
  const body = `<form id="join" autocomplete="on">
<label>Your name <input id="name" name="name" autocomplete="name" required maxlength="80"></label>
${pinField(room)}
<button type="submit" class="primary">Join</button>
</form>
${callSection({ leave: 'Leave' })}`
  return page({ ...common, body, script: 'guest.js' })
}

/** The field for a PIN. In a room with only a moderators' PIN, others need none. */
function pinField(room: ConferenceRoomRow): string {
  if (room.pin_hash === null && room.moderator_pin_hash === null) return ''
  const [label, needed] =
    room.pin_hash === null ? ['PIN <small>for moderators; others leave it empty</small>', ''] : ['PIN', ' required']
  return `<label>${label} <input id="pin" name="pin" inputmode="numeric" pattern="[0-9]{4,8}" maxlength="8" autocomplete="one-time-code"${needed}></label>`
}

export const missingLinkPage = (): string =>
  page({
    title: 'Link not found',
    kind: 'Conference room',
    heading: 'This link does not work',
    body: '<p>It was mistyped, or replaced by a new one. Ask whoever sent it.</p>',
  })

/** `/web_call#client_token=…`: one call, to the target of the token. */
export const webCallPage = (wsUrl: string): string =>
  page({
    title: 'Web call',
    kind: 'Web call',
    heading: 'Call from your browser',
    wsUrl: `${wsUrl}/v1/web_calls`,
    script: 'web-call.js',
    body: `<section id="ready"><button type="button" id="start" class="good">Call</button></section>
${callSection({ leave: 'Hang up', rest: keypad })}`,
  })

const STATUSES = { available: 'Available', away: 'Away', offline: 'Offline', busy: 'Busy', wrap_up: 'Wrap-up' }

const statusSelect = `<label>Status <select id="status">${Object.entries(STATUSES)
  .map(
    ([value, label]) =>
      `<option value="${value}"${value === 'busy' || value === 'wrap_up' ? ' disabled' : ''}>${label}</option>`,
  )
  .join('')}</select></label>`

const TRANSFER = `<form id="transfer"><label>Transfer to <input id="to" inputmode="tel" placeholder="+15551234567" required maxlength="200"></label><button type="submit">Transfer</button></form>`

const CALLBACK = `<form id="callback"><label>Call back later <input id="note" placeholder="Note" maxlength="500"></label><button type="submit">Book a callback</button></form>`

const DIAL = `<form id="dial"><label>Call <input id="number" inputmode="tel" placeholder="+15551234567, or an extension" autocomplete="off" required maxlength="64"></label>
${keys('dialpad')}
<button type="submit" class="good">Call</button></form>`

/** `/softphone#client_token=…`: an agent's telephone, with the copilot beside it during a call that has one. */
export const softphonePage = (wsUrl: string): string =>
  agentPage(wsUrl, { title: 'Softphone', kind: 'Agent', heading: 'Softphone', aside: copilotAside })

/** `/supervisor#client_token=…`: a supervisor's telephone, with the floor beside it. */
export const supervisorPage = (wsUrl: string): string =>
  agentPage(wsUrl, { title: 'Supervisor', kind: 'Supervisor', heading: 'Floor', aside: floorAside + copilotAside })

const agentPage = (wsUrl: string, words: { title: string; kind: string; heading: string; aside: string }): string =>
  page({
    ...words,
    wsUrl: `${wsUrl}/v1/softphones`,
    script: 'softphone.js',
    body: `<section id="ready"><button type="button" id="start" class="good">Connect</button></section>
<section id="idle" hidden>${statusSelect}<p>Calls ring here. Keep this page open.</p>${DIAL}</section>
<section id="ringing" hidden>
<p class="caller" id="caller" dir="auto"></p><p id="queue" dir="auto"></p>
<div class="row"><button type="button" id="accept" class="good">Accept</button><button type="button" id="decline" class="bad">Decline</button></div>
</section>
${callSection({
  leave: 'Hang up',
  head: '<p class="caller" id="with" dir="auto"></p>',
  more: '<button type="button" id="hold" aria-pressed="false">Hold</button>',
  rest: `${keypad}<details><summary>Transfer</summary>${TRANSFER}</details><details><summary>Call back</summary>${CALLBACK}</details>`,
})}
${previewPart}`,
  })
