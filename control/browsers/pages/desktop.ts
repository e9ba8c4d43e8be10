/** The panels beside the telephone of an agent or supervisor, filled by `copilot-panel.js` and `floor.js`. */

const part = (id: string, heading: string, body: string): string =>
  `<section id="${id}-part" aria-labelledby="${id}-heading"><h3 id="${id}-heading">${heading}</h3>${body}</section>`

export const copilotAside = `<aside id="copilot" aria-label="Copilot" hidden>
<header><div><h2 id="stage-name" dir="auto" tabindex="-1">Copilot</h2><p id="stage-goal" dir="auto"></p></div>
<div id="stage-moves" class="row" hidden><button type="button" id="stage-back">Stage back</button><button type="button" id="stage-next">Next stage</button></div>
<p id="mood" role="status" dir="auto"></p><p id="deaf" dir="auto"></p></header>
<div id="help" class="stack"><div id="alerts" role="alert"></div>
${part('hints', 'Help', '<div id="hints" role="log" aria-live="polite"></div><ul id="links"></ul>')}
<form id="ask"><label for="question">Ask the knowledge base</label><input id="question" dir="auto" maxlength="500" required autocomplete="off"><button type="submit">Ask</button></form></div>
<div id="steps" class="stack"><section id="script" aria-labelledby="script-heading" hidden><h3 id="script-heading">Script</h3><p id="script-step" dir="auto" aria-live="polite"></p>
<div id="script-choices" class="row"></div>
<div class="row"><button type="button" id="script-back">Back</button><button type="button" id="script-next">Next</button></div></section>
${part('checklist', 'To do', '<div id="checklist"></div>')}
${part('disclosures', 'Has to be said', '<ul id="disclosures"></ul>')}</div>
<div id="notes" class="stack">${part('fields', 'Details', '<form id="fields" autocomplete="off"></form>')}
${part('said', 'What is said', '<div id="said" role="log" aria-live="off" tabindex="0" aria-labelledby="said-heading"><ol id="said-lines"></ol></div>')}</div>
</aside>`

/** Choices of when to call again, in minutes; empty: never. */
const AGAIN: readonly [string, string][] = [
  ['', 'Not again'],
  ['15', 'In 15 minutes'],
  ['60', 'In an hour'],
  ['1440', 'Tomorrow'],
]

const option = ([value, label]: readonly [string, string]): string => `<option value="${value}">${label}</option>`

/** Contacts of campaigns that an agent sees before they are called, filled by `preview-panel.js`. */
export const previewPart = `<div id="preview" role="region" aria-labelledby="preview-heading" hidden>
<h2 id="preview-heading">Campaign</h2>
<label id="preview-choice">Contacts of <select id="preview-campaigns"></select></label>
<div id="preview-contact" hidden>
<p class="caller" id="preview-name" dir="auto"></p><p id="preview-phone" dir="ltr"></p><dl id="preview-facts"></dl>
<p id="preview-left"></p>
<button type="button" id="preview-call" class="good">Call</button>
<form id="preview-skip"><label>Why not <input id="preview-reason" dir="auto" maxlength="500" autocomplete="off"></label>
<label>Again <select id="preview-again">${AGAIN.map(option).join('')}</select></label>
<button type="submit">Skip</button></form>
</div>
<button type="button" id="preview-claim">Claim next</button>
</div>`

/** A table with explicit roles: on a narrow screen it is not displayed as a table, and would not be one to a screen reader. */
const table = (id: string, caption: string, columns: readonly string[]): string =>
  `<table role="table"><caption>${caption}</caption><thead role="rowgroup"><tr role="row">${columns.map(column => `<th scope="col" role="columnheader">${column}</th>`).join('')}</tr></thead><tbody id="${id}" role="rowgroup"></tbody></table>`

export const floorAside = `<aside id="floor" aria-label="Floor" hidden>
<div id="floor-alerts" class="unseen" role="alert"></div>
${table('floor-calls', 'Calls', ['Agent', 'With', 'For', 'Alerts', 'Listen in'])}
${table('floor-agents', 'Agents', ['Name', 'Status', 'For'])}
${table('floor-queues', 'Queues', ['Name', 'Waiting', 'Longest', 'Answered', 'Abandoned', 'In 20 s'])}
</aside>`
